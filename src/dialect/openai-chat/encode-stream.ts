import type { StreamEncoder } from '../../contract/dialect.ts'
import type { GeneratedToken, GenerationEvent, StartEvent } from '../../contract/event.ts'
import { ChunkTemplate } from '../openai/chunk-template.ts'
import type { ReplyHead } from '../openai/reply-head.ts'
import { withProgress } from '../openai/times/running-fields.ts'
import { ToolFrames } from '../openai/tool-frames.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'
import { encodeAnnotation, encodeFinishReason, encodeLogprobs, type ReplyStyle, reasoningNames } from './encode.ts'

/** Encodes events as `chat.completion.chunk` frames; what stands before a choice's delta is made once, too. */
export function createChunkEncoder(
  headOf: (start: StartEvent) => ReplyHead,
  style: ReplyStyle & { readonly includeUsage: boolean },
): StreamEncoder {
  const { legacyCalls } = style
  const tools = style.showsTools === true ? new ToolFrames() : undefined
  /** Texts before and after a call of a tool of the server are apart. */
  let hasText = false
  let needsBreak = false
  const template = new ChunkTemplate('chat.completion.chunk', style.includeUsage)
  const { closing } = template
  const plainEnd = `},"logprobs":null,"finish_reason":null}${closing}`
  const names = reasoningNames[style.reasoningFields]
  /** The fields of reasoning in the other deltas of a model that reasons. */
  let noReasoning = ''
  const showNone = () => {
    noReasoning = names.map((name) => `,"${name}":null`).join('')
  }
  const choiceHeads: string[] = []
  const started: boolean[] = []
  const toolCalls: CallHead[][] = []
  /** Tokens of each choice that are not sent yet: those of tags and of held-back text go with the next chunk. */
  const unsent: (GeneratedToken[] | undefined)[] = []

  /** The text before a choice's delta, up to and with the delta's opening brace. */
  function chunkHead(choice: number): string {
    const known = choiceHeads[choice]
    if (known !== undefined) return known
    const made = `${template.opening}{"index":${choice},"delta":{`
    choiceHeads[choice] = made
    return made
  }

  /** The text after a choice's delta. */
  function endOf(choice: number, finishReason: string | null, stopSequence?: string): string {
    const tokens = unsent[choice]
    if (tokens === undefined && finishReason === null) return plainEnd
    unsent[choice] = undefined
    const logprobs = tokens === undefined ? 'null' : toFrameJson(encodeLogprobs(tokens))
    const finish = finishReason === null ? 'null' : `"${finishReason}"`
    const stop = stopSequence === undefined ? '' : `,"stop_reason":${toFrameJson(stopSequence)}`
    return `},"logprobs":${logprobs},"finish_reason":${finish}${stop}}${closing}`
  }

  /** The role chunk, at a choice's first event only. */
  function start(choice: number): string {
    if (started[choice] === true) return ''
    started[choice] = true
    return `${chunkHead(choice)}"role":"assistant","content":""${noReasoning}${plainEnd}`
  }

  function chunk(choice: number, delta: string): string {
    return start(choice) + chunkHead(choice) + delta + noReasoning + endOf(choice, null)
  }

  function callsOf(choice: number): CallHead[] {
    toolCalls[choice] ??= []
    return toolCalls[choice]
  }

  function keepTokens(event: GenerationEvent): void {
    if (!style.logprobs || !('tokens' in event) || event.tokens === undefined || event.tokens.length === 0) return
    const before = unsent[event.choice]
    if (before === undefined) unsent[event.choice] = [...event.tokens]
    else for (const token of event.tokens) before.push(token)
  }

  function encode(event: GenerationEvent): string {
    keepTokens(event)
    switch (event.type) {
      case 'start':
        template.start(headOf(event))
        if (event.reasons === true) showNone()
        return ''
      case 'text-delta': {
        if (needsBreak && event.delta !== '') return afterBreak(event.choice, event.delta)
        hasText = true
        return chunk(event.choice, `"content":${toFrameJson(event.delta)}`)
      }
      case 'reasoning-delta': {
        if (names.length === 0) return start(event.choice)
        showNone()
        const delta = toFrameJson(event.delta)
        const said = names.map((name) => `"${name}":${delta}`).join(',')
        return start(event.choice) + chunkHead(event.choice) + said + endOf(event.choice, null)
      }
      case 'refusal-delta':
        return chunk(event.choice, `"refusal":${toFrameJson(event.delta)}`)
      case 'annotation': {
        const annotations = encodeAnnotation(event.annotation)
        return annotations.length === 0 ? start(event.choice) : chunk(event.choice, `"annotations":${toFrameJson(annotations)}`)
      }
      case 'tool-call-start': {
        const { choice, id, name, kind } = event
        const index = callsOf(choice).push({ id, kind }) - 1
        if (legacyCalls) return chunk(choice, `"function_call":${toFrameJson({ name, arguments: '' })}`)
        // As OpenAI sends custom calls; its description of chunks has only functions (openai/openai-openapi issue 576).
        const call =
          kind === 'custom'
            ? { index, id, type: 'custom', custom: { name, input: '' } }
            : { index, id, type: 'function', function: { name, arguments: '' } }
        return chunk(choice, `"tool_calls":${toFrameJson([call])}`)
      }
      case 'tool-call-delta': {
        const { choice, id, delta } = event
        if (legacyCalls) return chunk(choice, `"function_call":${toFrameJson({ arguments: delta })}`)
        // The last one, in case an upstream gives two calls the same id.
        const index = callsOf(choice).findLastIndex((call) => call.id === id)
        const isCustom = callsOf(choice)[index]?.kind === 'custom'
        const call = isCustom ? { index, custom: { input: delta } } : { index, function: { arguments: delta } }
        return chunk(choice, `"tool_calls":${toFrameJson([call])}`)
      }
      case 'finish':
        return (
          start(event.choice) +
          chunkHead(event.choice) +
          noReasoning.slice(1) +
          endOf(event.choice, encodeFinishReason(event.reason, legacyCalls), event.stopSequence)
        )
      case 'reasoning-start':
        showNone()
        return start(event.choice)
      case 'prompt-progress':
        return `${start(0)}${chunkHead(0)}${noReasoning.slice(1)}${withProgress(plainEnd, event)}`
      case 'prompt-read':
        // There is always a first choice; its chunk shows the client that the model has started.
        return start(0)
      // Only completions request prompt tokens.
      case 'prompt-tokens':
      case 'text-start':
      case 'text-end':
      case 'reasoning-end':
      case 'refusal-start':
      case 'refusal-end':
      case 'tool-call-end':
      case 'mcp-tools':
      case 'approval-request':
      case 'server-tool-end':
        return start(event.choice)
      case 'server-tool-start':
        needsBreak = hasText
        return start(event.choice)
      case 'usage':
        return template.usage(event, style.usageTimes)
      case 'error':
        return template.error(event.error)
    }
  }

  function afterBreak(choice: number, delta: string): string {
    needsBreak = false
    return chunk(choice, `"content":${toFrameJson(`\n\n${delta}`)}`)
  }

  if (tools === undefined) return { encode }
  return { encode: (event) => encode(event) + tools.encode(event) }
}

type CallHead = { readonly id: string; readonly kind: 'custom' | undefined }
