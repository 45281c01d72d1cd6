import type { Emit } from './emit.ts'
import type { FinishReason, GeneratedToken, GenerationEvent, PromptToken, Timings, Usage } from './event.ts'
import type { ToolCall } from './request.ts'

/** One choice of a finished generation. */
export type Choice = {
  readonly text: string
  readonly reasoning: string
  /** Reasoning and text as they came; absent where all reasoning came first. */
  readonly inOrder?: string
  readonly toolCalls: readonly ToolCall[]
  readonly tokens: readonly GeneratedToken[]
  /** Those of the prompt, where they were asked for: on the first choice of each prompt. */
  readonly promptTokens?: readonly PromptToken[]
  readonly finish: { readonly reason: FinishReason; readonly stopSequence?: string; readonly rawReason?: string }
}

export type GenerationResult = { readonly choices: readonly Choice[]; readonly usage: Usage; readonly timings: Timings }

type Draft = {
  text: string
  reasoning: string
  inOrder?: string
  toolCalls: { -readonly [Field in keyof ToolCall]: ToolCall[Field] }[]
  tokens: GeneratedToken[]
  promptTokens?: PromptToken[]
  finish: Choice['finish'] | undefined
}

/** Folds a generation into one result: the non-streaming reply is exactly this fold. Throws the generation's error. */
export async function foldEvents({ run }: { run(emit: Emit<GenerationEvent>): Promise<void> }): Promise<GenerationResult> {
  const drafts: Draft[] = []
  let end = undefined as Extract<GenerationEvent, { type: 'usage' | 'error' }> | undefined
  await run((event) => {
    if (event.type === 'usage' || event.type === 'error') end = event
    else if (event.type !== 'prompt-read') addToDraft(draftOf(drafts, event.choice), event)
    return undefined
  })
  if (end === undefined) throw new Error('foldEvents needs a sealed generation: this one ended without usage or error')
  if (end.type === 'error') throw end.error
  return { choices: drafts.map(closeDraft), usage: end.usage, timings: end.timings }
}

function addToDraft(draft: Draft, event: Exclude<GenerationEvent, { type: 'error' | 'usage' | 'prompt-read' }>): void {
  if ('tokens' in event && event.tokens !== undefined) draft.tokens.push(...event.tokens)
  switch (event.type) {
    case 'text-delta':
      draft.text += event.delta
      if (draft.inOrder !== undefined) draft.inOrder += event.delta
      break
    case 'reasoning-delta':
      if (draft.text !== '') draft.inOrder = (draft.inOrder ?? draft.reasoning + draft.text) + event.delta
      draft.reasoning += event.delta
      break
    case 'tool-call-start':
      draft.toolCalls.push({ id: event.id, name: event.name, arguments: '' })
      break
    case 'tool-call-delta': {
      // The last one, should an upstream have given two calls the same id.
      const call = draft.toolCalls.findLast(({ id }) => id === event.id)
      if (call !== undefined) call.arguments += event.delta
      break
    }
    case 'finish': {
      const { type: _, choice: __, ...finish } = event
      draft.finish = finish
      break
    }
    case 'prompt-tokens':
      draft.promptTokens ??= []
      draft.promptTokens.push(...event.promptTokens)
      break
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
