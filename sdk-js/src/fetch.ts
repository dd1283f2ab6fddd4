// Entry point of `@fermata/sdk/fetch`.
export { watchResponse, wrapFetch } from './instrument/response';
