import { isObject } from '../../base/json.ts'
import type { FunctionTool, JsonObject } from '../../contract/request.ts'
import { isForeignAt, plainText } from '../../jinja/values/foreign-text.ts'
import { noted, plainSchema } from './plain-schema.ts'

/** Renders the declaration of one tool, with the origin of its characters; undefined if the template refuses it. */
type Declare = (tool: FunctionTool) => string | undefined

/**
 * The tool in the first form that a template shows: unchanged; with a plain schema, if the template refuses the given one or drops
 * parameters of it; or with the whole schema as text in the description.
 */
export function showTool(tool: FunctionTool, declare: Declare): FunctionTool {
  const { parameters } = tool
  if (parameters === undefined) return tool
  const plain = plainSchema(parameters)
  const isFlat = Object.values(Object(parameters.properties)).every((each) => namesIn(each).size === 0)
  if (isFlat && JSON.stringify(plain) === JSON.stringify(parameters)) return tool
  const candidates = plain === undefined ? [tool] : [tool, withSchema(tool, plain), withSchema(tool, flat(plain))]
  const names = [tool.name, ...namesIn(parameters)]
  return candidates.find((each) => shows(declare(each), names)) ?? inWords(tool, parameters)
}

/** For templates that print a tool's parameters, but not nested ones: those go into the description. */
function flat(plain: JsonObject): JsonObject {
  const properties = Object.entries(Object(plain.properties)).map(([name, schema]) => {
    return [name, namesIn(schema).size === 0 ? schema : noted(Object(schema), schema)]
  })
  return { ...plain, properties: Object.fromEntries(properties) }
}

/** Moves the description of the whole schema to the tool: templates do not print a description of its parameters. */
function withSchema(tool: FunctionTool, schema: JsonObject): FunctionTool {
  const { description } = schema
  if (typeof description !== 'string' || description === tool.parameters?.description) return { ...tool, parameters: schema }
  return { ...tool, description: joined(tool.description, description), parameters: schema }
}

function inWords(tool: FunctionTool, parameters: JsonObject): FunctionTool {
  const said = `Parameters as JSON Schema: ${JSON.stringify(parameters)}`
  return { ...tool, description: joined(tool.description, said), parameters: { type: 'object', properties: {} } }
}

function joined(...texts: readonly (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined && text !== '').join(' ')
}

/** The names of all properties in a schema, at any depth. */
function namesIn(schema: unknown, names = new Set<string>()): ReadonlySet<string> {
  if (Array.isArray(schema)) for (const each of schema) namesIn(each, names)
  if (!isObject(schema)) return names
  for (const [keyword, value] of Object.entries(schema)) {
    const isMap = keyword === 'properties' && typeof value === 'object' && value !== null
    if (isMap) for (const name of Object.keys(value)) names.add(name)
    for (const inner of isMap ? Object.values(value) : [value]) namesIn(inner, names)
  }
  return names
}

/** Whether all the names are words of a caller in the text. */
function shows(traced: string | undefined, names: readonly string[]): boolean {
  if (traced === undefined) return false
  const words = foreignWords(traced)
  return names.every((name) => {
    for (let at = words.indexOf(name); at !== -1; at = words.indexOf(name, at + 1)) {
      if (!/\w/.test(`${words[at - 1] ?? ''}${words[at + name.length] ?? ''}`)) return true
    }
    return false
  })
}

/** The text with spaces in place of the template's own characters. */
function foreignWords(traced: string): string {
  return plainText(traced)
    .split('')
    .map((unit, index) => (isForeignAt(traced, index) ? unit : ' '))
    .join('')
}
