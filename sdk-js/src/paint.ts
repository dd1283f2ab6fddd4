// Entry point of `@fermata/sdk/paint`: for pages that start from `@fermata/sdk/core`. One `Page` serves all streams.
export { Page } from './instrument/page';
export { type Observation, type ObserveOptions, observeElement, type Target } from './instrument/paint';
