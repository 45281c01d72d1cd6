import { type Message, type Prompt, plainChat } from '../../contract/request.ts'
import { indexFields, type Refusal } from '../wire/field-table.ts'
import { nameMessage } from '../wire/message-paths.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { validate } from '../wire/validate.ts'
import { checkBody } from './check-body.ts'
import { decodeCommon, nameCommon } from './decode-common.ts'
import { decodeImage } from './decode-messages.ts'
import { generateFields } from './fields.ts'
import { keepLoadedBy } from './keep-alive.ts'
import { requireModel } from './require-model.ts'
import { type GenerateWire, generateSchema } from './schema.ts'
import type { DecodedOllama } from './style.ts'

const fields = indexFields(generateFields)
const unknownInside = unknownKeys(generateSchema)

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that cannot be served completely. */
export function decodeGenerate(body: unknown, id: string): DecodedOllama {
  requireModel(body)
  const wire = validate(generateSchema, body, fields)
  const ignored = checkBody(wire, { fields, also: refusalsOfRaw(wire) })
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
    keepLoaded: keepLoadedBy(wire.keep_alive),
    ignored: [...ignored, ...unknownInside(body), ...(isChat ? [] : withoutTemplate(wire))],
    nameOf: (path) => {
      const [root, second] = path
      if (root === 'prompt' && second === 'messages') return nameMessage(wire, pathsOf(wire), path) ?? 'prompt'
      if (root === 'prompt') return second === 'suffix' ? 'suffix' : 'prompt'
      return nameCommon(wire, path)
    },
  }
}

/** Fields that only a chat template could show to a model. */
function withoutTemplate({ think, system }: GenerateWire): readonly string[] {
  return [...(think ? ['think'] : []), ...(system ? ['system'] : [])]
}

function refusalsOfRaw({ raw, system, suffix, images, ...rest }: GenerateWire): readonly Refusal[] {
  const { template, context } = rest as { readonly template?: unknown; readonly context?: unknown }
  const isRaw = raw === true
  const refused: Refusal[] = []
  if (isRaw && (system || template || (Array.isArray(context) && context.length > 0))) {
    refused.push({ param: 'raw', message: 'raw mode does not support template, system, or context' })
  }
  if ((isRaw || suffix) && (images ?? []).length > 0) {
    const message = `images are shown to a model by its chat template: leave out ${isRaw ? 'raw' : 'suffix'}`
    refused.push({ param: 'images', message })
  }
  return refused
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

/** The places of a prompt's one or two messages, and of its images, in the body. */
function pathsOf({ system, images }: GenerateWire) {
  const shown = [...(images ?? []).map((_, index) => `images[${index}]`), 'prompt']
  return [...(system ? [{ message: 'system', parts: ['system'] }] : []), { message: 'prompt', parts: shown }]
}
