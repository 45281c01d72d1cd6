const bySchema = (schema: unknown) => ({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } })
const values = (count: number) => Array.from({ length: count }, (_, index) => `value ${(index * 7919) % 1_000_003}`)
const rivals = Array.from({ length: 400 }, (_, index) => ({
  type: 'object',
  properties: { kind: { const: `kind-${index}` }, [`field${index}`]: { type: 'integer', minimum: index, maximum: 1_000_003 } },
  required: ['kind'],
}))

/** Constraints of a few bytes that take a backtracking or exponential sampler years, and large ones: fields of a chat. */
export const hostileConstraints: readonly (readonly [name: string, fields: object])[] = [
  ['nested repetitions', { regex_pattern: '(\\w+\\s?)+' }],
  ['optional parts', { regex_pattern: '(a?){400}a{400}' }],
  ['repeated wildcards', { regex_pattern: '.*.*.*' }],
  ['a long ambiguous pattern', { regex_pattern: '(a|b|ab|c*)*'.repeat(250) }],
  ['a grammar that doubles its ways', { grammar: 'root ::= s\ns ::= [a-z ] s "a" | [a-z ] s "b" | [a-z ]' }],
  ['many values', bySchema({ enum: values(40_000) })],
  ['a choice of many', { guided_choice: values(3000) }],
  ['rival branches', bySchema({ properties: { a: { oneOf: rivals }, b: { oneOf: rivals.slice(1) } } })],
]
