import type { FinishReason, StartEvent, Usage } from '../../contract/event.ts'
import type { Annotation, JsonObject, ReasoningPart } from '../../contract/request.ts'
import type { Choice, GenerationResult, ReplyPart } from '../../contract/result.ts'
import type { Sealer } from '../../contract/sealer.ts'
import type { ComparedPrompt, PromptChange } from '../../contract/usage.ts'
import { callObject, withoutCutCall } from '../wire/call-input.ts'
import { seal } from '../wire/sealed.ts'
import { encodeOutcome, encodeServerCall, ServerToolCount } from './encode-server-tools.ts'
import type { ContentBlock, WireMessage } from './replies.ts'

export type ReplyStyle = {
  readonly id: string
  readonly thinking: 'shown' | 'omitted' | 'none'
  readonly sealer: Sealer
  /** The name of the folder for programs that the server runs. */
  readonly container: string
}

/** A truncated answer is never `end_turn`, which clients read as complete. */
const stopReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'context-full': 'model_context_window_exceeded',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
  refusal: 'refusal',
  cancelled: 'max_tokens',
  'end-of-message': 'end_turn',
  paused: 'pause_turn',
}

/** The fields about the end of a reply. */
export function encodeStop({ reason, stopSequence }: Pick<Choice['finish'], 'reason' | 'stopSequence'>) {
  const isSequence = reason === 'stop' && stopSequence !== undefined
  const stop_reason = isSequence ? 'stop_sequence' : stopReasons[reason]
  const isRefusal = stop_reason === 'refusal'
  return {
    container: null,
    stop_details: isRefusal ? { type: 'refusal', category: null, explanation: null } : null,
    stop_reason,
    stop_sequence: isSequence ? stopSequence : null,
  }
}

/** The usage that is known when a reply begins. Anthropic counts cached tokens apart. */
export function encodeUsage(
  { inputTokens, cachedInputTokens, outputTokens, reasoningTokens }: Usage,
  serverToolUse: JsonObject | null = null,
) {
  return {
    input_tokens: inputTokens - cachedInputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedInputTokens,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
    server_tool_use: serverToolUse,
  }
}

/** A reply without content, for the beginning of a stream. */
export function encodeHead(id: string, { model, compared }: StartEvent, usage: ReturnType<typeof encodeUsage>): WireMessage {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    container: null,
    content: [],
    diagnostics: encodeDiagnostics(compared),
    stop_details: null,
    stop_reason: null,
    stop_sequence: null,
    usage: {
      cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: 0 },
      inference_geo: null,
      service_tier: 'standard',
      speed: null,
      ...usage,
    },
  }
}

/** A complete reply: Anthropic's `Message`. There is one choice. */
export function encodeMessage({ start, choices, usage }: GenerationResult, style: ReplyStyle): WireMessage {
  const choice = choices[0]
  if (choice === undefined) throw new Error('a message needs one choice')
  const content = withoutCutCall(choice).flatMap((part) => encodePart(part, style))
  const count = new ServerToolCount()
  for (const part of choice.parts) if (part.type === 'server-tool') count.add(part.call)
  return { ...encodeHead(style.id, start, encodeUsage(usage, count.toJson())), content, ...encodeStop(choice.finish) }
}

function encodePart(part: ReplyPart, style: ReplyStyle): readonly ContentBlock[] {
  const { thinking, sealer } = style
  switch (part.type) {
    case 'text': {
      // Absent rather than empty, as in Anthropic's own replies: clients refuse null.
      const citations = (part.annotations ?? []).map(encodeCitation)
      return [{ type: 'text', text: part.text, ...(citations.length > 0 && { citations }) }]
    }
    case 'refusal':
      return [{ type: 'text', text: part.text }]
    case 'reasoning': {
      if (thinking === 'none') return []
      return [{ type: 'thinking', thinking: thinking === 'shown' ? part.text : '', signature: sign(sealer, part) }]
    }
    case 'tool-call':
      return [encodeCall(part, callObject(part.name, part.input))]
    case 'server-tool': {
      const { call, outcome } = part
      const begun = encodeServerCall(call, call.arguments)
      return outcome === undefined ? [begun] : [begun, encodeOutcome(call, outcome, style)]
    }
    // Models do not draw, and callers are not asked.
    case 'mcp-tools':
    case 'tool-result':
    case 'media':
    case 'approval-request':
      return []
  }
}

/** The signature of reasoning: the text itself and the upstream's data about it, sealed. */
export function sign(sealer: Sealer, { text, opaque }: Pick<ReasoningPart, 'text' | 'opaque'>): string {
  return seal(sealer, { kind: 'thought', text, opaque })
}

export function encodeCall({ id, name }: { readonly id: string; readonly name: string }, input: unknown): ContentBlock {
  return { type: 'tool_use', id, name, input, caller: { type: 'direct' }, toolset_name: null }
}

/** Sources in Anthropic's forms. Its types allow a page without a title; clients refuse null. */
export function encodeCitation(annotation: Annotation): unknown {
  switch (annotation.type) {
    case 'url-citation': {
      const { url, title } = annotation
      return { type: 'web_search_result_location', url, title: title ?? '', cited_text: '', encrypted_index: '' }
    }
    case 'file-citation': {
      const { fileId, filename, index } = annotation
      const at = index ?? 0
      const document = { document_index: 0, document_title: filename ?? null, file_id: fileId }
      return { type: 'char_location', cited_text: '', ...document, start_char_index: at, end_char_index: at }
    }
  }
}

/** Why a prompt cache could not serve all of the earlier prompt; null without a comparison, and without a difference. */
function encodeDiagnostics(compared: ComparedPrompt | undefined): WireMessage['diagnostics'] {
  if (compared === undefined || compared === 'same') return null
  if (compared === 'unknown') return { cache_miss_reason: { type: 'previous_message_not_found' } }
  const type = reasonOf(compared)
  const missed = { cache_missed_input_tokens: compared.missedTokens }
  return { cache_miss_reason: { type, ...(type !== 'unavailable' && missed) } }
}

function reasonOf({ part, isSystem }: PromptChange): string {
  if (part === 'model') return 'model_changed'
  if (part === 'tool') return 'tools_changed'
  // Anthropic's word for an option that may change the prompt.
  if (part === 'setting') return 'unavailable'
  return isSystem === true ? 'system_changed' : 'messages_changed'
}
