// The real `openai` client in a page.

import { observeOpenAI } from '@fermata/sdk/openai';
import OpenAI from 'openai';
import { byId, fermata, globals } from './setup';

const openai = new OpenAI({ apiKey: 'none', baseURL: `${location.origin}/api`, dangerouslyAllowBrowser: true, maxRetries: 2 });

byId('ask').onclick = async () => {
  const answer = fermata?.submit({ element: byId('answer') });
  const client = answer ? observeOpenAI(openai, answer) : openai;
  const stream = await client.chat.completions.create({ model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] });
  for await (const chunk of stream) {
    const text = chunk.choices[0]?.delta?.content ?? '';
    globals.seen.text += text;
    byId('answer').append(text);
  }
  globals.finished = true;
};
globals.ready = true;
