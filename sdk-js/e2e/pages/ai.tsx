// The real `ai` package: streamText in a page.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { observeStreamText } from '@fermata/sdk/ai';
import { streamText } from 'ai';
import { byId, fermata, globals } from './setup';

const provider = createOpenAICompatible({ name: 'test', baseURL: `${location.origin}/api` });

byId('ask').onclick = async () => {
  const answer = fermata?.submit({ element: byId('answer') });
  let result = streamText({ model: provider('m'), prompt: 'hi', onError: () => {} });
  if (answer) result = observeStreamText(answer, result);
  for await (const text of result.textStream) {
    globals.seen.text += text;
    byId('answer').append(text);
  }
  globals.finished = true;
};
globals.ready = true;
