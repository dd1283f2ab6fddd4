// The real `useChat` of `@ai-sdk/react`, with the SDK's hook.
import { useChat } from '@ai-sdk/react';
import { useAnswer } from '@fermata/sdk/react';
import { DefaultChatTransport } from 'ai';
import { useEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { byId, fermata, globals } from './setup';

interface Measure {
  submit(): unknown;
  ref?: ((el: Element | null) => void) | undefined;
  fetch: typeof fetch;
}

function Chat({ measure }: { measure: Measure }) {
  const { messages, sendMessage, status } = useChat({ transport: new DefaultChatTransport({ api: '/api/ui', fetch: measure.fetch }) });
  const last = messages.at(-1);
  const text = last?.role === 'assistant' ? last.parts.map((p) => (p.type === 'text' ? p.text : '')).join('') : '';
  useEffect(() => {
    globals.seen.text = text;
    if (status === 'ready' && text) globals.finished = true;
  });
  return (
    <>
      <button
        type="button"
        id="send"
        onClick={() => {
          measure.submit();
          sendMessage({ text: 'A question that is longer than the first words of the answer' });
        }}
      >
        Send
      </button>
      {messages.map((m) => (
        <div key={m.id} className={m.role} ref={m === last && m.role === 'assistant' ? measure.ref : undefined}>
          {m.parts.map((p, i) => (p.type === 'text' ? <p key={String(i)}>{p.text}</p> : null))}
        </div>
      ))}
    </>
  );
}

function Measured({ f }: { f: NonNullable<typeof fermata> }) {
  return <Chat measure={useAnswer(f)} />;
}

createRoot(byId('root')).render(fermata ? <Measured f={fermata} /> : <Chat measure={{ submit() {}, fetch: globalThis.fetch.bind(globalThis) }} />);
byId('ask').onclick = () => byId('send').click();
globals.ready = true;
