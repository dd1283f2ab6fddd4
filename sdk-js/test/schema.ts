import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';

/** Checks bodies against the wire format's own JSON Schema, which the receivers are held to as well. */
export function schema(name: 'rum' | 'chunks' | 'gateway'): (value: unknown) => string | undefined {
  const file = new URL(`../../internal/wire/schema/${name}.schema.json`, import.meta.url);
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  const check = ajv.compile(JSON.parse(readFileSync(file, 'utf8')) as object);
  return (v) => (check(v) ? undefined : `${ajv.errorsText(check.errors)} in ${JSON.stringify(v).slice(0, 2000)}`);
}
