import type { FinishReason, GeneratedToken, GenerationEvent, Timings, Usage } from './event.ts'
import type { ToolCall } from './request.ts'

/** One choice of a finished generation. */
export type Choice = {
  readonly text: string
  readonly reasoning: string
  readonly toolCalls: readonly ToolCall[]
  readonly tokens: readonly GeneratedToken[]
  readonly finish: { readonly reason: FinishReason; readonly stopSequence?: string; readonly rawReason?: string }
}

export type GenerationResult = { readonly choices: readonly Choice[]; readonly usage: Usage; readonly timings: Timings }

type Draft = {
  text: string
  reasoning: string
  toolCalls: ToolCall[]
  tokens: GeneratedToken[]
  finish: Choice['finish'] | undefined
}

/** Folds a sealed stream into one result: the non-streaming reply is exactly this fold. Throws the stream's error. */
export async function foldEvents(events: AsyncIterable<GenerationEvent>): Promise<GenerationResult> {
  const drafts: Draft[] = []
  for await (const event of events) {
    switch (event.type) {
      case 'error':
        throw event.error
      case 'usage':
        return { choices: drafts.map(closeDraft), usage: event.usage, timings: event.timings }
      case 'prompt-read':
        break
      default:
        addToDraft(draftOf(drafts, event.choice), event)
    }
  }
  throw new Error('foldEvents needs a sealed stream: this one ended without usage or error')
}

function addToDraft(draft: Draft, event: Exclude<GenerationEvent, { type: 'error' | 'usage' | 'prompt-read' }>): void {
  switch (event.type) {
    case 'text-delta':
      draft.text += event.delta
      draft.tokens.push(...(event.tokens ?? []))
      break
    case 'reasoning-delta':
      draft.reasoning += event.delta
      draft.tokens.push(...(event.tokens ?? []))
      break
    case 'tool-call-start':
      draft.toolCalls.push({ id: event.id, name: event.name, arguments: '' })
      break
    case 'tool-call-delta': {
      draft.toolCalls = draft.toolCalls.map((call) =>
        call.id === event.id ? { ...call, arguments: call.arguments + event.delta } : call,
      )
      break
    }
    case 'finish': {
      const { type: _, choice: __, ...finish } = event
      draft.finish = finish
      break
    }
    case 'text-start':
    case 'text-end':
    case 'reasoning-start':
    case 'reasoning-end':
    case 'tool-call-end':
      break
  }
}

function draftOf(drafts: Draft[], choice: number): Draft {
  while (drafts.length <= choice) drafts.push({ text: '', reasoning: '', toolCalls: [], tokens: [], finish: undefined })
  return drafts[choice] as Draft
}

function closeDraft({ finish, ...rest }: Draft): Choice {
  if (finish === undefined) throw new Error('a choice reached the end of its stream without a finish event')
  return { ...rest, finish }
}
