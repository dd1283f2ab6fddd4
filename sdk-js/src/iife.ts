// The classic script build: everything, as the global `fermata`.

export { observeStreamText } from './adapters/ai';
export { observeOpenAI } from './adapters/openai';
export { Answer } from './answer';
export { createClient } from './core/index';
export { Fermata, init } from './index';
export { instrumentFetch } from './instrument/autofetch';
export { watchEventSource } from './instrument/eventsource';
export { watchIterable } from './instrument/iterable';
export { Page } from './instrument/page';
export { observeElement } from './instrument/paint';
export { watchResponse, wrapFetch } from './instrument/response';
export { watchWebSocket } from './instrument/websocket';
