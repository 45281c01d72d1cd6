import type { Emit } from '../base/emit.ts'
import type {
  EventOf,
  FinishReason,
  GeneratedToken,
  GenerationEvent,
  ListedTool,
  PromptToken,
  ServerToolCall,
  StartEvent,
  Timings,
  Usage,
} from './event.ts'
import { settledStart } from './is-truncated.ts'
import type { OutputPart } from './request.ts'
import type { ToolOutcome } from './server-tool.ts'

/** Something the server did for a choice, besides generating. */
type ServerPart =
  | { readonly type: 'mcp-tools'; readonly server: string; readonly tools: readonly ListedTool[]; readonly error?: string }
  /** The next request has to answer it. */
  | { readonly type: 'approval-request'; readonly call: ServerToolCall }
  /** Without an outcome: the reply ended while the tool ran. */
  | { readonly type: 'server-tool'; readonly call: ServerToolCall; readonly outcome?: ToolOutcome }

export type ReplyPart = OutputPart | ServerPart

export type Choice = {
  /** In the order of generation. */
  readonly parts: readonly ReplyPart[]
  readonly tokens: readonly GeneratedToken[]
  /** For the first choice of each prompt, on request. */
  readonly promptTokens?: readonly PromptToken[]
  readonly finish: { readonly reason: FinishReason; readonly stopSequence?: string; readonly rawReason?: string }
}

export type GenerationResult = {
  readonly start: StartEvent
  readonly choices: readonly Choice[]
  readonly usage: Usage
  readonly timings: Timings
}

type ChoiceEvent = Extract<GenerationEvent, { readonly choice: number }>
type Mutable<T> = T extends unknown ? { -readonly [Field in keyof T]: T[Field] } : never

/** A choice while it grows. */
export type Draft = {
  readonly parts: Mutable<ReplyPart>[]
  /** The last part may grow. */
  isOpen: boolean
  tokens: GeneratedToken[]
  promptTokens?: PromptToken[]
  finish: Choice['finish'] | undefined
}

/** Folds a generation's events into the result of the non-streaming reply. Throws the generation's error. */
export async function foldEvents({ run }: { run(emit: Emit<GenerationEvent>): Promise<void> }): Promise<GenerationResult> {
  const drafts: Draft[] = []
  let start: StartEvent | undefined
  let end = undefined as EventOf<'usage' | 'error'> | undefined
  await run((event) => {
    if (event.type === 'start') start ??= event
    else if (event.type === 'usage' || event.type === 'error') end = event
    else if ('choice' in event) addToDraft(draftOf(drafts, event.choice), event)
    return undefined
  })
  if (end === undefined) throw new Error('foldEvents needs a sealed generation: this one ended without usage or error')
  if (end.type === 'error') throw end.error
  if (start === undefined) throw new Error('foldEvents needs a generation that begins with a start event')
  const choices = drafts.map(closeDraft)
  return {
    start: settledStart(
      start,
      choices.map(({ finish }) => finish),
    ),
    choices,
    usage: end.usage,
    timings: end.timings,
  }
}

export function newDraft(): Draft {
  return { parts: [], isOpen: false, tokens: [], finish: undefined }
}

export function addToDraft(draft: Draft, event: ChoiceEvent): void {
  if ('tokens' in event && event.tokens !== undefined) addAll(draft.tokens, event.tokens)
  switch (event.type) {
    case 'text-delta':
      append(draft, 'text', event.delta)
      break
    case 'reasoning-delta':
      append(draft, 'reasoning', event.delta)
      break
    case 'refusal-delta':
      append(draft, 'refusal', event.delta)
      break
    case 'reasoning-end':
      if (event.opaque !== undefined) addOpaque(draft, event.opaque)
      draft.isOpen = false
      break
    case 'annotation': {
      const text = draft.parts.findLast((part) => part.type === 'text')
      if (text === undefined) draft.parts.push({ type: 'text', text: '', annotations: [event.annotation] })
      else text.annotations = [...(text.annotations ?? []), event.annotation]
      break
    }
    case 'tool-call-start': {
      const { id, name, kind } = event
      draft.parts.push({ type: 'tool-call', id, name, input: '', ...(kind !== undefined && { kind }) })
      draft.isOpen = false
      break
    }
    case 'tool-call-delta': {
      const call = findCall(draft, event.id)
      if (call !== undefined) call.input += event.delta
      break
    }
    case 'tool-call-end': {
      const call = findCall(draft, event.id)
      if (call === undefined) break
      if (event.state !== undefined) call.state = event.state
      if (event.raw !== undefined) call.raw = event.raw
      break
    }
    case 'mcp-tools': {
      const { choice: _, ...part } = event
      draft.parts.push(part)
      draft.isOpen = false
      break
    }
    case 'approval-request':
      draft.parts.push({ type: event.type, call: event.call })
      draft.isOpen = false
      break
    case 'server-tool-start': {
      // The call was approved or refused.
      const asked = draft.parts.findIndex((part) => part.type === 'approval-request' && part.call.id === event.call.id)
      if (asked !== -1) draft.parts.splice(asked, 1)
      draft.parts.push({ type: 'server-tool', call: event.call })
      draft.isOpen = false
      break
    }
    case 'server-tool-end': {
      const tool = draft.parts.findLast((part) => part.type === 'server-tool' && part.call.id === event.id)
      if (tool?.type === 'server-tool') tool.outcome = event.outcome
      break
    }
    case 'finish': {
      const { type: _, choice: __, ...finish } = event
      draft.finish = finish
      break
    }
    case 'prompt-tokens':
      draft.promptTokens ??= []
      addAll(draft.promptTokens, event.promptTokens)
      break
    case 'text-start':
    case 'reasoning-start':
    case 'refusal-start':
    case 'text-end':
    case 'refusal-end':
      draft.isOpen = false
      break
  }
}

/** Not `push(...more)`, whose arguments have to fit on the stack. */
function addAll<T>(all: T[], more: readonly T[]): void {
  for (const one of more) all.push(one)
}

function append(draft: Draft, type: 'text' | 'reasoning' | 'refusal', delta: string): void {
  const last = draft.parts.at(-1)
  // An empty text part was annotated before its first delta.
  if (last?.type === type && (draft.isOpen || (type === 'text' && last.text === ''))) last.text += delta
  // An empty delta only carries tokens.
  else if (delta !== '') draft.parts.push({ type, text: delta })
  else return
  draft.isOpen = true
}

/** Some servers send only the signature of a block. */
function addOpaque({ parts, isOpen }: Draft, opaque: string): void {
  const last = parts.at(-1)
  if (isOpen && last?.type === 'reasoning') last.opaque = opaque
  else parts.push({ type: 'reasoning', text: '', opaque })
}

/** The last call, since an upstream may give two calls the same id. */
function findCall({ parts }: Draft, id: string) {
  return parts.findLast((part) => part.type === 'tool-call' && part.id === id) as
    | Mutable<Extract<ReplyPart, { type: 'tool-call' }>>
    | undefined
}

function draftOf(drafts: Draft[], choice: number): Draft {
  while (drafts.length <= choice) drafts.push(newDraft())
  return drafts[choice] as Draft
}

function closeDraft({ finish, parts, tokens, promptTokens }: Draft): Choice {
  if (finish === undefined) throw new Error('a choice reached the end of its stream without a finish event')
  return { parts, tokens, ...(promptTokens !== undefined && { promptTokens }), finish }
}
