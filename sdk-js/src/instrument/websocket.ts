import type { Stream } from '../core/stream';
import { piecesOf } from '../extract/extract';
import type { EventOptions } from './eventsource';
import { define } from './readable';

/**
 * Watches one answer on a `WebSocket`, from now to its terminal event. A socket that carries several answers
 * gets one stream for each, one after the other.
 */
export function watchWebSocket<W extends WebSocket>(stream: Stream, socket: W, options: EventOptions = {}): W {
  if (!stream.active) return socket;
  const { client } = stream;
  const safe = (f: () => void) => client._safe(f);
  safe(() => {
    stream.protocol = 'websocket';
    const send = socket.send.bind(socket);
    const close = socket.close.bind(socket);
    let sent = false;
    const onMessage = (e: MessageEvent) =>
      safe(() => {
        if (!sent) {
          stream.sent(false);
          sent = true;
        }
        // Over, though its last paint may be waited for: what comes now is the next answer's.
        if (stream._endedAt >= 0) return;
        if (typeof e.data === 'string') {
          stream.pieces(piecesOf(e.data, stream.extract));
        } else {
          // Binary frames are a protocol of the app's own: only their size is known.
          stream.contentKind = 'raw';
          stream.chunk('content', e.data?.byteLength ?? e.data?.size ?? 0);
        }
        if (options.isEnd ? options.isEnd(e) : stream._sawDone) stream.done();
      });
    const onClose = (e: CloseEvent) => safe(() => (e.wasClean || stream._sawDone ? stream.done() : stream.fail('network')));
    socket.addEventListener('message', onMessage);
    socket.addEventListener('close', onClose);
    const undoSend = define(socket, 'send', (data: Parameters<WebSocket['send']>[0]) => {
      if (!sent) safe(() => stream.sent(false));
      sent = true;
      return send(data);
    });
    const undoClose = define(socket, 'close', (...a: [number?, string?]) => {
      safe(() => stream.abort());
      return close(...a);
    });
    stream._cleanup.push(() => {
      socket.removeEventListener('message', onMessage);
      socket.removeEventListener('close', onClose);
      undoSend();
      undoClose();
    });
  });
  return socket;
}
