import { indexFields, refuseValue } from '../field-table.ts'
import { nestedFields } from './fields.ts'
import {
  assistantMessage,
  audioPart,
  filePart,
  functionCall,
  functionMessage,
  imagePart,
  imageUrl,
  inputAudio,
  promptMessage,
  refusalPart,
  streamOptions,
  textPart,
  toolCall,
  toolMessage,
  type WireMessage,
  type WirePart,
  type WireRequest,
} from './schema.ts'

type Keys = ReadonlySet<string>
/** Where an object is: its path with `[]` for every index, and the index of its message. */
type Place = { readonly path: string; readonly message?: number }

const refused = indexFields(nestedFields)

const promptKeys = keysOf(promptMessage)
const messageKeys: Readonly<Record<WireMessage['role'], Keys>> = {
  system: promptKeys,
  developer: promptKeys,
  user: promptKeys,
  assistant: keysOf(assistantMessage),
  tool: keysOf(toolMessage),
  function: keysOf(functionMessage),
}
const partKeys: Readonly<Record<WirePart['type'], Keys>> = {
  text: keysOf(textPart),
  refusal: keysOf(refusalPart),
  image_url: keysOf(imagePart),
  input_audio: keysOf(audioPart),
  file: keysOf(filePart),
}
const imageUrlKeys = keysOf(imageUrl)
const inputAudioKeys = keysOf(inputAudio)
const toolCallKeys = keysOf(toolCall)
const functionCallKeys = keysOf(functionCall)
const streamOptionsKeys = keysOf(streamOptions)

/**
 * The fields inside messages and `stream_options` that Dragoman does not know, as paths without indices, each once. Throws
 * `unsupported-field` for those that would change what is generated.
 */
export function checkNested({ messages, stream_options }: WireRequest): string[] {
  const ignored = new Set<string>()

  const check = (object: object | null | undefined, known: Keys, { path, message }: Place): void => {
    if (object === undefined || object === null) return
    for (const [name, value] of Object.entries(object)) {
      if (known.has(name) || value === null) continue
      const fieldPath = `${path}.${name}`
      const field = refused.get(fieldPath)
      if (field === undefined) ignored.add(fieldPath)
      else refuseValue(field, fieldPath.replace('[]', `[${message}]`), value)
    }
  }

  const checkPart = (part: WirePart, message: number): void => {
    check(part, partKeys[part.type], { path: 'messages[].content[]', message })
    if (part.type === 'image_url') check(part.image_url, imageUrlKeys, { path: 'messages[].content[].image_url', message })
    if (part.type === 'input_audio') {
      check(part.input_audio, inputAudioKeys, { path: 'messages[].content[].input_audio', message })
    }
  }

  for (const [index, message] of messages.entries()) {
    check(message, messageKeys[message.role], { path: 'messages[]', message: index })
    if (Array.isArray(message.content)) for (const part of message.content) checkPart(part, index)
    if (message.role !== 'assistant') continue
    for (const call of message.tool_calls ?? []) {
      check(call, toolCallKeys, { path: 'messages[].tool_calls[]', message: index })
      check(call.function, functionCallKeys, { path: 'messages[].tool_calls[].function', message: index })
    }
    check(message.function_call, functionCallKeys, { path: 'messages[].function_call', message: index })
  }
  check(stream_options, streamOptionsKeys, { path: 'stream_options' })
  return [...ignored]
}

function keysOf(schema: { readonly shape: object }): Keys {
  return new Set(Object.keys(schema.shape))
}
