// The real `openai` client, watched by its stream object instead of its fetch.

import { watchIterable } from '@fermata/sdk/iterable';
import OpenAI from 'openai';
import { byId, fermata, globals } from './setup';

const openai = new OpenAI({ apiKey: 'none', baseURL: `${location.origin}/api`, dangerouslyAllowBrowser: true });

byId('ask').onclick = async () => {
  const answer = fermata?.submit({ element: byId('answer') });
  const made = await openai.chat.completions.create({ model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] });
  const stream = answer ? watchIterable(answer, made) : made;
  for await (const chunk of stream) {
    const text = chunk.choices[0]?.delta?.content ?? '';
    globals.seen.text += text;
    byId('answer').append(text);
  }
  globals.finished = true;
};
globals.ready = true;
