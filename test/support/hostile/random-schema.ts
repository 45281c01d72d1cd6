type Random = () => number

/** A schema made by chance, of the keywords that people use; most, not all, can be satisfied. */
export function randomSchema(random: Random): object {
  const definitions = { leaf: scalar(random), list: { type: 'array', items: scalar(random), maxItems: 3 } }
  const tree = {
    type: 'object',
    properties: { value: { $ref: '#/$defs/leaf' }, more: { type: 'array', items: { $ref: '#/$defs/tree' }, maxItems: 2 } },
    required: ['value'],
  }
  return { ...schema(random, 3), $defs: { ...definitions, tree } }
}

function schema(random: Random, depth: number): object {
  if (depth === 0 || random() < 0.25) return scalar(random)
  return pick(random, [object, object, object, array, array, union, combined, reference])(random, depth)
}

function object(random: Random, depth: number): object {
  const names = ['id', 'name', 'a b', 'tags', 'größe', 'x-1', 'nested', 'kind'].filter(() => random() < 0.4)
  const properties = Object.fromEntries(names.map((name) => [name, schema(random, depth - 1)]))
  return {
    type: 'object',
    properties,
    ...maybe(random, 0.7, { required: names.filter(() => random() < 0.5) }),
    ...maybe(random, 0.6, { additionalProperties: false }),
    ...maybe(random, 0.1, { additionalProperties: scalar(random) }),
    ...maybe(random, 0.1, { minProperties: 1 }),
    ...maybe(random, 0.1, { maxProperties: 4 }),
    ...maybe(random, 0.1, { patternProperties: { '^x-': scalar(random) } }),
    ...maybe(random, 0.1, { propertyNames: { maxLength: 8 } }),
    ...maybe(random, 0.1, { dependentRequired: { id: ['name'] } }),
    ...maybe(random, 0.1, { unevaluatedProperties: false }),
  }
}

function array(random: Random, depth: number): object {
  const min = Math.floor(random() * 3)
  return {
    type: 'array',
    ...maybe(random, 0.9, { items: schema(random, depth - 1) }),
    ...maybe(random, 0.2, { prefixItems: [scalar(random), schema(random, depth - 1)] }),
    ...maybe(random, 0.3, { minItems: min }),
    maxItems: min + Math.floor(random() * 3),
    ...maybe(random, 0.1, { uniqueItems: true }),
    ...maybe(random, 0.1, { contains: scalar(random) }),
  }
}

function union(random: Random, depth: number): object {
  const kinds = ['circle', 'square', 'line'].map((kind) => ({
    type: 'object',
    properties: { kind: { const: kind }, size: schema(random, depth - 1) },
    required: ['kind'],
  }))
  return pick(random, [
    { oneOf: kinds },
    { anyOf: [schema(random, depth - 1), { type: 'null' }] },
    { oneOf: [{ type: 'string', maxLength: 3 }, { type: 'integer' }, { type: 'array', items: scalar(random) }] },
    { oneOf: [schema(random, depth - 1), schema(random, depth - 1)] },
  ])
}

function combined(random: Random, depth: number): object {
  const { type: _, ...base } = object(random, depth) as { type: string }
  return pick(random, [
    { type: 'object', allOf: [base, { properties: { extra: scalar(random) }, required: ['extra'] }] },
    { ...object(random, depth), anyOf: [{ required: ['id'] }, { properties: { name: { type: 'string' } } }] },
    { allOf: [{ $ref: '#/$defs/list' }, { minItems: 1 }] },
  ])
}

function reference(random: Random): object {
  return { $ref: `#/$defs/${pick(random, ['leaf', 'list', 'tree'])}` }
}

function scalar(random: Random): object {
  const low = Math.floor(random() * 200) - 100
  return pick<object>(random, [
    { type: 'string' },
    { type: 'string', minLength: 1, maxLength: 12 },
    { type: 'string', pattern: pick(random, ['^[a-z]{2,5}$', '\\d', '^a|b$', '^\\S+@\\S+$', '^(?!x)[x-z]+$', '[^"]']) },
    { type: 'string', pattern: '^[A-Z]', maxLength: 6 },
    { type: 'string', format: pick(random, ['date', 'date-time', 'uuid', 'email', 'ipv4', 'uri', 'time', 'hostname']) },
    { type: 'integer' },
    { type: 'integer', minimum: low, maximum: low + Math.floor(random() * 500) },
    { type: 'number' },
    { type: 'number', minimum: low / 8, exclusiveMaximum: low / 8 + 1 + Math.floor(random() * 1000) / 100 },
    { type: 'number', exclusiveMinimum: 0, maximum: 1 },
    { type: 'number', multipleOf: 0.5 },
    { type: 'boolean' },
    { type: ['string', 'null'] },
    { enum: ['red', 'green', 3, null] },
    { const: { fixed: [1, 'two'] } },
    {},
  ])
}

function maybe<T extends object>(random: Random, chance: number, part: T): T | object {
  return random() < chance ? part : {}
}

function pick<T>(random: Random, choices: readonly T[]): T {
  const chosen = choices[Math.floor(random() * choices.length)]
  if (chosen === undefined) throw new Error('nothing to choose from')
  return chosen
}
