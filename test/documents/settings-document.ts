import { configJsonSchema } from '../../src/config/schema.ts'

type Schema = {
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: Schema | false
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}
type Row = readonly [name: string, values: string, meaning: string]

/** All settings as a page of the documentation, from the schema that validates them. */
export function settingsDocument(): string {
  const { models, ...sections } = (configJsonSchema() as Schema).properties ?? {}
  const intro = `# Settings

Every setting of \`dragoman.yaml\`, from the schema that checks it; \`dragoman config --schema\` prints the schema, \`config --check\` checks a file, and
\`config init\` begins one. [configuration.md](configuration.md) says how the settings work together, and which environment variables there are.
\`NAME\` is a key that you choose, \`[]\` an element of a list. A value in bold is the default.`
  const made = Object.entries(sections).map(([name, schema]) => section(name, schema.description, rowsOf(schema, name)))
  return `${[intro, ...made, modelsSection(models ?? {})].join('\n\n')}\n`
}

/** The models: what all engines have, and what each has besides. */
function modelsSection({ description, items }: Schema): string {
  const kinds = variantsOf(items ?? {}).map(({ properties: { engine, ...properties } = {}, ...rest }) => ({
    name: engine?.const ?? 'from',
    description: engine?.description,
    rows: rowsOf({ ...rest, properties }, 'models[]'),
  }))
  const engines = kinds.filter(({ name }) => name !== 'from')
  const written = (row: Row) => row.join('\n')
  const common = (engines[0]?.rows ?? []).filter((row) =>
    engines.every(({ rows }) => rows.some((each) => written(each) === written(row))),
  )
  const isOwn = (row: Row) => !common.some((each) => written(each) === written(row))
  return [
    section('models', description, common),
    ...kinds.map(({ name, description: text, rows }) =>
      section(name === 'from' ? 'models of a server, with from' : `models with engine: ${name}`, text, rows.filter(isOwn)),
    ),
  ].join('\n\n')
}

function section(title: string, description: string | undefined, rows: readonly Row[]): string {
  const text = description === undefined ? [] : [description]
  const lines = rows.map(([name, values, meaning]) => `- \`${name}\` (${values}): ${meaning}`)
  const list = lines.length === 0 ? [] : [lines.join('\n')]
  return [`## ${title}`, ...text, ...list].join('\n\n')
}

/** The rows of everything in a schema, deepest names last. */
function rowsOf(schema: Schema, path: string): readonly Row[] {
  const rows = variantsOf(schema).flatMap((variant) => [
    ...Object.entries(variant.properties ?? {}).flatMap(([name, each]): readonly Row[] => {
      const place = `${path}.${name}`
      const own: Row = [place, valuesOf(each, variant.required?.includes(name) === true), each.description ?? '']
      return own[2] === '' ? rowsOf(each, place) : [own, ...rowsOf(each, place)]
    }),
    ...(variant.items === undefined ? [] : rowsOf(variant.items, `${path}[]`)),
    ...(typeof variant.additionalProperties === 'object' ? rowsOf(variant.additionalProperties, `${path}.NAME`) : []),
  ])
  return Array.from(new Map(rows.map((row) => [row[0] + row[2], row])).values())
}

function variantsOf(schema: Schema): readonly Schema[] {
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
  return choices.length === 0 ? [schema] : choices.flatMap(variantsOf)
}

/** What may be written, with the default in bold. */
function valuesOf(schema: Schema, isRequired: boolean): string {
  const kinds = Array.from(new Set(variantsOf(schema).flatMap(kindsOf)))
  const preset = schema.default
  const isShown = preset !== undefined && (typeof preset !== 'object' || preset === null)
  const shown = isShown ? `**${JSON.stringify(preset)?.replaceAll('"', '')}**` : undefined
  const others = kinds.filter((kind) => kind !== String(preset))
  return [...(shown === undefined ? [] : [shown]), ...others, ...(isRequired ? ['required'] : [])].join(', ')
}

function kindsOf(schema: Schema): readonly string[] {
  const { type, minimum, exclusiveMinimum, maximum = Number.MAX_SAFE_INTEGER, items } = schema
  if (schema.const !== undefined) return [String(schema.const)]
  if (schema.enum !== undefined) return schema.enum.map(String)
  if (type === 'boolean') return ['true', 'false']
  if (type === 'array') return [`list of ${Array.from(new Set(variantsOf(items ?? {}).flatMap(kindsOf))).join(' or ')}`]
  if (type !== 'integer' && type !== 'number') return [type ?? 'anything']
  const from = exclusiveMinimum === undefined ? (minimum ?? Number.MIN_SAFE_INTEGER) : `above ${exclusiveMinimum}`
  if (maximum < Number.MAX_SAFE_INTEGER) return [`${from} to ${maximum}`]
  return [from === Number.MIN_SAFE_INTEGER ? type : `${type} ${typeof from === 'number' ? `from ${from}` : from}`]
}
