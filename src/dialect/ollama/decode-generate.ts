import { AppError } from '../../contract/errors.ts'
import { type Message, type Prompt, plainChat } from '../../contract/request.ts'
import { indexFields } from '../wire/field-table.ts'
import { nameMessage } from '../wire/message-paths.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { validate } from '../wire/validate.ts'
import { decodeCommon, nameCommon } from './decode-common.ts'
import { decodeImage } from './decode-messages.ts'
import { generateFields } from './fields.ts'
import { readKeepAlive } from './keep-alive.ts'
import { checkOptions } from './options.ts'
import { checkTop, refusalOf, refuseAll } from './refusals.ts'
import { requireModel } from './require-model.ts'
import { type GenerateWire, generateSchema } from './schema.ts'
import type { DecodedOllama } from './style.ts'

const fieldIndex = indexFields(generateFields)
const unknownInside = unknownKeys(generateSchema)

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that cannot be served completely. */
export function decodeGenerate(body: unknown, id: string): DecodedOllama {
  requireModel(body)
  const wire = validate(generateSchema, body)
  const top = checkTop(fieldIndex, wire)
  const options = checkOptions(wire.options)
  refuseAll([...refusalOf(() => refuseInRaw(wire)), ...top.refusals, ...options.refusals])
  const isChat = wire.raw !== true && !wire.suffix
  const common = decodeCommon(wire)
  // Without a chat template, nothing switches thinking.
  const { reasoning: _, ...plain } = common
  return {
    request: { id, ...(isChat ? common : { ...plain, reasoning: {} }), prompt: decodePrompt(wire) },
    isStreamed: wire.stream ?? true,
    style: {
      model: wire.model,
      form: isChat ? 'text' : 'raw',
      isEmpty: wire.options?.num_predict === 0,
      thinks: isChat ? (wire.think ?? undefined) : undefined,
    },
    keepAliveMs: readKeepAlive(wire.keep_alive),
    ignored: [
      ...top.ignored,
      ...unknownInside(body),
      ...options.ignored,
      ...(!isChat && (wire.think ?? false) !== false ? ['think'] : []),
    ],
    nameOf: (path) => {
      const [root, second] = path
      if (root === 'prompt' && second === 'messages') return nameMessage(wire, pathsOf(wire), path) ?? 'prompt'
      if (root === 'prompt') return second === 'suffix' ? 'suffix' : 'prompt'
      return nameCommon(wire, path)
    },
  }
}

function refuseInRaw({ raw, system, suffix, images, ...rest }: GenerateWire): void {
  const { template, context } = rest as { readonly template?: unknown; readonly context?: unknown }
  const isRaw = raw === true
  if (isRaw && (system || template || (Array.isArray(context) && context.length > 0))) {
    throw new AppError('invalid-request', 'raw mode does not support template, system, or context', { param: 'raw' })
  }
  if ((!isRaw && !suffix) || (images ?? []).length === 0) return
  const message = `images are shown to a model by its chat template: leave out ${isRaw ? 'raw' : 'suffix'}`
  throw new AppError('unsupported-field', message, { param: 'images' })
}

function decodePrompt({ prompt, suffix, raw, system, images }: GenerateWire): Prompt {
  const text = prompt ?? ''
  if (suffix) return { type: 'infill', prefix: text, suffix }
  if (raw === true) return { type: 'text', text, readsControlTokens: true }
  const media = (images ?? []).map(decodeImage)
  const messages: Message[] = [
    ...(system ? [{ role: 'system' as const, content: [{ type: 'text' as const, text: system }] }] : []),
    { role: 'user', content: [...media, { type: 'text', text }] },
  ]
  return { type: 'chat', ...plainChat, messages }
}

/** Where the one or two messages of a prompt, and its images, stand in the body. */
function pathsOf({ system, images }: GenerateWire) {
  const shown = [...(images ?? []).map((_, index) => `images[${index}]`), 'prompt']
  return [...(system ? [{ message: 'system', parts: ['system'] }] : []), { message: 'prompt', parts: shown }]
}
