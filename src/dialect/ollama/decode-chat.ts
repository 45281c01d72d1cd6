import type { CanonicalPath } from '../../contract/field.ts'
import { type FunctionTool, plainChat } from '../../contract/request.ts'
import { refuseLargeJson } from '../openai/large-json.ts'
import { formatRest } from '../wire/field-names.ts'
import { indexFields } from '../wire/field-table.ts'
import { compactJson, losesDigits, objectTexts } from '../wire/json/exact-json.ts'
import { nameMessage } from '../wire/message-paths.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { validate } from '../wire/validate.ts'
import { checkBody } from './check-body.ts'
import { decodeCommon, nameCommon } from './decode-common.ts'
import { decodeMessages } from './decode-messages.ts'
import { chatFields } from './fields.ts'
import { keepLoadedBy } from './keep-alive.ts'
import { requireModel } from './require-model.ts'
import { chatSchema, type ToolWire } from './schema.ts'
import type { DecodedOllama } from './style.ts'

const fields = indexFields(chatFields)
const unknownInside = unknownKeys(chatSchema)

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that cannot be served completely. */
export function decodeChat(body: unknown, id: string, exactBody?: string): DecodedOllama {
  requireModel(body)
  const wire = validate(chatSchema, body, fields)
  const ignored = checkBody(wire, { fields })
  const { messages, paths } = decodeMessages(wire.messages ?? [], exactArguments(exactBody))
  return {
    request: {
      id,
      ...decodeCommon(wire),
      prompt: { type: 'chat', ...plainChat, messages, tools: (wire.tools ?? []).map(decodeTool) },
    },
    isStreamed: wire.stream ?? true,
    style: { model: wire.model, form: 'chat', isEmpty: wire.options?.num_predict === 0, thinks: wire.think ?? undefined },
    keepLoaded: keepLoadedBy(wire.keep_alive),
    ignored: [...ignored, ...unknownInside(body)],
    nameOf: (path) => {
      const [root, second, index, ...rest] = path
      if (root === 'toolChoice' || (root === 'prompt' && second === 'tools')) {
        return typeof index === 'number' ? `tools[${index}].function${formatRest(rest)}` : 'tools'
      }
      if (root === 'prompt') return nameMessage(wire, paths, path) ?? 'messages'
      return nameCommon(wire, path)
    },
  }
}

function decodeTool({ function: { name, description, parameters } }: ToolWire, index: number): FunctionTool {
  refuseLargeJson(parameters, `tools[${index}].function.parameters`)
  return {
    name,
    ...(typeof description === 'string' && { description }),
    ...(parameters !== undefined && parameters !== null && { parameters }),
  }
}

/** The arguments of earlier calls whose numbers do not fit a double, by path. */
function exactArguments(body: string | undefined): ReadonlyMap<string, string> {
  const exact = new Map<string, string>()
  if (body === undefined) return exact
  for (const [path, text] of objectTexts(body, isArguments)) if (losesDigits(text)) exact.set(path, compactJson(text))
  return exact
}

/** `messages[0].tool_calls[0].function.arguments` */
function isArguments([messages, index, calls, position, called, name, ...rest]: CanonicalPath): boolean {
  return (
    messages === 'messages' &&
    typeof index === 'number' &&
    calls === 'tool_calls' &&
    typeof position === 'number' &&
    called === 'function' &&
    name === 'arguments' &&
    rest.length === 0
  )
}
