import { checkCommonNested } from '../openai/check-common-nested.ts'
import { nestedConstraintFields } from '../openai/common-fields.ts'
import { indexFields } from '../wire/field-table.ts'
import { createNestedCheck, type Keys, keysOf, type NestedCheck } from '../wire/nested-check.ts'
import {
  assistantMessage,
  audioPart,
  audioUrlPart,
  customCall,
  fileObject,
  filePart,
  functionCall,
  functionMessage,
  imagePart,
  imageUrl,
  inputAudio,
  mediaUrl,
  promptMessage,
  refusalPart,
  textPart,
  toolCall,
  toolMessage,
  videoUrlPart,
  type WireMessage,
  type WirePart,
} from './message-schema.ts'
import { type ChatWire, reasoningObject, thinkingObject } from './schema.ts'
import {
  allowedChoice,
  allowedTool,
  allowedTools,
  customChoice,
  customTool,
  grammar,
  grammarFormat,
  named,
  namedChoice,
  textFormat,
  tool,
  toolFunction,
} from './tool-schema.ts'

const refused = indexFields(nestedConstraintFields)

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
  audio_url: keysOf(audioUrlPart),
  video_url: keysOf(videoUrlPart),
  file: keysOf(filePart),
}
const imageUrlKeys = keysOf(imageUrl)
const inputAudioKeys = keysOf(inputAudio)
const mediaUrlKeys = keysOf(mediaUrl)
const fileKeys = keysOf(fileObject)
const toolCallKeys = keysOf(toolCall)
const functionCallKeys = keysOf(functionCall)
const customCallKeys = keysOf(customCall)
const toolKeys = keysOf(tool)
const toolFunctionKeys = keysOf(toolFunction)
const customToolKeys = keysOf(customTool)
const formatKeys = { text: keysOf(textFormat), grammar: keysOf(grammarFormat) }
const grammarKeys = keysOf(grammar)
const customChoiceKeys = keysOf(customChoice)
const namedChoiceKeys = keysOf(namedChoice)
const allowedChoiceKeys = keysOf(allowedChoice)
const allowedToolsKeys = keysOf(allowedTools)
const allowedToolKeys = keysOf(allowedTool)
const namedKeys = keysOf(named)
const reasoningKeys = keysOf(reasoningObject)
const thinkingKeys = keysOf(thinkingObject)

/**
 * The unknown fields inside the objects of a body, as paths without indices, each once. Throws `unsupported-field` for those
 * that would change the output.
 */
export function checkNested(wire: ChatWire): string[] {
  const nested = createNestedCheck(refused)
  for (const [index, message] of wire.messages.entries()) checkMessage(nested, message, index)
  checkCommonNested(nested, wire)
  checkTools(nested, wire)
  nested.check(wire.reasoning, reasoningKeys, { path: 'reasoning' })
  if (typeof wire.thinking === 'object') nested.check(wire.thinking, thinkingKeys, { path: 'thinking' })
  return [...nested.ignored]
}

function checkMessage(nested: NestedCheck, message: WireMessage, index: number): void {
  const { check } = nested
  check(message, messageKeys[message.role], { path: 'messages[]', index })
  if (Array.isArray(message.content)) for (const part of message.content) checkPart(nested, part, index)
  if (message.role !== 'assistant') return
  for (const call of message.tool_calls ?? []) {
    check(call, toolCallKeys, { path: 'messages[].tool_calls[]', index })
    check(call.function, functionCallKeys, { path: 'messages[].tool_calls[].function', index })
    check(call.custom, customCallKeys, { path: 'messages[].tool_calls[].custom', index })
  }
  check(message.function_call, functionCallKeys, { path: 'messages[].function_call', index })
}

function checkPart({ check }: NestedCheck, part: WirePart, index: number): void {
  check(part, partKeys[part.type], { path: 'messages[].content[]', index })
  const checkInside = (value: unknown, keys: Keys) => {
    if (typeof value === 'object') check(value, keys, { path: `messages[].content[].${part.type}`, index })
  }
  switch (part.type) {
    case 'text':
    case 'refusal':
      break
    case 'image_url':
      checkInside(part.image_url, imageUrlKeys)
      break
    case 'input_audio':
      checkInside(part.input_audio, inputAudioKeys)
      break
    case 'audio_url':
      checkInside(part.audio_url, mediaUrlKeys)
      break
    case 'video_url':
      checkInside(part.video_url, mediaUrlKeys)
      break
    case 'file':
      checkInside(part.file, fileKeys)
      break
  }
}

function checkTools({ check }: NestedCheck, { tools, functions, function_call, tool_choice: choice }: ChatWire): void {
  for (const [index, item] of (tools ?? []).entries()) {
    check(item, toolKeys, { path: 'tools[]', index })
    check(item.function, toolFunctionKeys, { path: 'tools[].function', index })
    check(item.custom, customToolKeys, { path: 'tools[].custom', index })
    const format = item.custom?.format
    if (!format) continue
    check(format, formatKeys[format.type], { path: 'tools[].custom.format', index })
    if (format.type === 'grammar') check(format.grammar, grammarKeys, { path: 'tools[].custom.format.grammar', index })
  }
  for (const [index, item] of (functions ?? []).entries()) check(item, toolFunctionKeys, { path: 'functions[]', index })
  if (typeof function_call === 'object') check(function_call, namedKeys, { path: 'function_call' })
  if (typeof choice !== 'object' || choice === null) return
  switch (choice.type) {
    case 'function':
      check(choice, namedChoiceKeys, { path: 'tool_choice' })
      check(choice.function, namedKeys, { path: 'tool_choice.function' })
      break
    case 'allowed_tools':
      check(choice, allowedChoiceKeys, { path: 'tool_choice' })
      check(choice.allowed_tools, allowedToolsKeys, { path: 'tool_choice.allowed_tools' })
      for (const allowed of choice.allowed_tools.tools) {
        check(allowed, allowedToolKeys, { path: 'tool_choice.allowed_tools.tools[]' })
        check(allowed.function, namedKeys, { path: 'tool_choice.allowed_tools.tools[].function' })
        check(allowed.custom, namedKeys, { path: 'tool_choice.allowed_tools.tools[].custom' })
      }
      break
    case 'custom':
      check(choice, customChoiceKeys, { path: 'tool_choice' })
      check(choice.custom, namedKeys, { path: 'tool_choice.custom' })
      break
  }
}
