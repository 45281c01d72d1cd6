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
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
}
type Row = readonly [name: string, values: string, meaning: string]

/** All settings as a page of the documentation, from the schema that validates them. */
export function settingsDocument(): string {
  const { properties: { models, ...sections } = {}, $defs = {} } = configJsonSchema() as Schema
  const page = new Page($defs)
  const intro = `# Settings

Every setting of \`dragoman.yaml\`, from the schema that checks it; \`dragoman config --schema\` prints the schema, \`config --check\` checks a file, and
\`config init\` begins one. [configuration.md](../configuration.md) says how the settings work together, and which environment variables there are.
\`NAME\` is a key that you choose, \`[]\` an element of a list. A value in bold is the default. What several settings have in common is listed once, at the
first of them.`
  const made = Object.entries(sections).map(([name, schema]) => section(name, schema.description, page.rowsOf(schema, name)))
  return `${[intro, ...made, modelsSection(models ?? {}, page)].join('\n\n')}\n`
}

/** The models: what all engines have, and what each has besides. */
function modelsSection({ description, items }: Schema, page: Page): string {
  const kinds = variantsOf(items ?? {}).map(({ properties: { engine, ...properties } = {}, ...rest }) => ({
    name: engine?.const ?? 'from',
    description: engine?.description,
    rows: page.rowsOf({ ...rest, properties }, 'models[]'),
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

/** What has been written of the schema. */
class Page {
  readonly #shared: Readonly<Record<string, Schema>>
  readonly #written = new Set<string>()

  constructor(shared: Readonly<Record<string, Schema>>) {
    this.#shared = shared
  }

  /** The rows of everything in a schema, deepest names last; of what several schemas share, the first time only. */
  rowsOf(schema: Schema, path: string): readonly Row[] {
    const rows = variantsOf(schema).flatMap((variant) => {
      const { properties = {}, items, additionalProperties, required } = this.#unwritten(variant)
      return [
        ...Object.entries(properties).flatMap(([name, each]): readonly Row[] => {
          const place = `${path}.${name}`
          const own: Row = [place, this.#valuesOf(each, required?.includes(name) === true), each.description ?? '']
          return own[2] === '' ? this.rowsOf(each, place) : [own, ...this.rowsOf(each, place)]
        }),
        ...(items === undefined ? [] : this.rowsOf(items, `${path}[]`)),
        ...(typeof additionalProperties === 'object' ? this.rowsOf(additionalProperties, `${path}.NAME`) : []),
      ]
    })
    return Array.from(new Map(rows.map((row) => [row[0] + row[2], row])).values())
  }

  #unwritten(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema
    if (this.#written.has(schema.$ref)) return {}
    this.#written.add(schema.$ref)
    return this.#resolve(schema)
  }

  #resolve(schema: Schema): Schema {
    return this.#shared[schema.$ref?.replace('#/$defs/', '') ?? ''] ?? schema
  }

  /** What may be written, with the default in bold. */
  #valuesOf(schema: Schema, isRequired: boolean): string {
    const kinds = Array.from(new Set(variantsOf(schema).flatMap((each) => this.#kindsOf(each))))
    const preset = schema.default
    const isShown = preset !== undefined && (typeof preset !== 'object' || preset === null)
    const shown = isShown ? `**${JSON.stringify(preset)?.replaceAll('"', '')}**` : undefined
    const others = kinds.filter((kind) => kind !== String(preset))
    return [...(shown === undefined ? [] : [shown]), ...others, ...(isRequired ? ['required'] : [])].join(', ')
  }

  #kindsOf(given: Schema): readonly string[] {
    const schema = this.#resolve(given)
    const { type, minimum, exclusiveMinimum, maximum = Number.MAX_SAFE_INTEGER, items } = schema
    if (schema.const !== undefined) return [String(schema.const)]
    if (schema.enum !== undefined) return schema.enum.map(String)
    if (type === 'boolean') return ['true', 'false']
    if (type === 'array')
      return [`list of ${Array.from(new Set(variantsOf(items ?? {}).flatMap((each) => this.#kindsOf(each)))).join(' or ')}`]
    if (type !== 'integer' && type !== 'number') return [type ?? 'anything']
    const from = exclusiveMinimum === undefined ? (minimum ?? Number.MIN_SAFE_INTEGER) : `above ${exclusiveMinimum}`
    if (maximum < Number.MAX_SAFE_INTEGER) return [`${from} to ${maximum}`]
    return [from === Number.MIN_SAFE_INTEGER ? type : `${type} ${typeof from === 'number' ? `from ${from}` : from}`]
  }
}

function variantsOf(schema: Schema): readonly Schema[] {
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
  return choices.length === 0 ? [schema] : choices.flatMap(variantsOf)
}
