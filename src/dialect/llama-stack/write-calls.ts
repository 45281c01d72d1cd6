import { parseObject } from '../../base/json.ts'
import type { ToolCallPart } from '../../contract/request.ts'
import type { PromptFormat } from './schema.ts'

type NamedInput = Pick<ToolCallPart, 'name' | 'input'>

/** Calls as a model writes them in a format. Input that is not an object in JSON is shown unchanged. */
export function writeCalls(calls: readonly NamedInput[], format: PromptFormat): string {
  switch (format) {
    case 'json':
      return calls.map(writeJson).join('; ')
    case 'function_tag':
      return calls.map(({ name, input }) => `<function=${name}>${input}</function>`).join('')
    case 'python_list':
      return `[${calls.map(writePython).join(', ')}]`
  }
}

function writeJson({ name, input }: NamedInput): string {
  return `{"type": "function", "name": ${JSON.stringify(name)}, "parameters": ${input}}`
}

function writePython({ name, input }: NamedInput): string {
  const values = parseObject(input)
  if (values === undefined) return `${name}(${input})`
  const entries = Object.entries(values)
  if (entries.every(([key]) => identifier.test(key))) {
    return `${name}(${entries.map(([key, value]) => `${key}=${writeValue(value)}`).join(', ')})`
  }
  return `${name}(**${writeValue(values)})`
}

const identifier = /^[a-z_]\w*$/i

/** A JSON value in Python. Strings are the same in both. */
function writeValue(value: unknown): string {
  if (value === null) return 'None'
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (Array.isArray(value)) return `[${value.map(writeValue).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${writeValue(item)}`)
  return `{${entries.join(', ')}}`
}
