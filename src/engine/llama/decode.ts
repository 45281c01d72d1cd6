import type { Token } from 'node-llama-cpp'
import type { PromptToken } from '../../core/event.ts'
import { type ChoiceEnd, decodeChoice } from './choice.ts'
import type { Command, Report } from './ipc.ts'
import type { WorkerModel } from './model.ts'
import { type PrefillPacer, promptChunks } from './prefill.ts'
import { describePrompt, scorePrompt } from './score-prompt.ts'
import type { Slot } from './slots.ts'

type RunCommand = Extract<Command, { type: 'run' }>

/** How a run is steered from outside while it goes on. */
export type RunControl = {
  readonly cancelled: () => boolean
  /** While the reader is behind: resolves when it has caught up. */
  readonly whenWanted: () => Promise<void> | undefined
}

/** One request at work: its slot, what it wants, and how it is steered. */
export type Run = { readonly slot: Slot; readonly command: RunCommand; readonly control: RunControl }

type Done = Extract<Report, { type: 'done' }>

/**
 * Generates for one request on its slot, and reports as it goes. Choices follow each other: the prompt stays in the slot,
 * and is computed once. The result is to be reported once the slot is free.
 */
export async function decode(
  loaded: WorkerModel,
  run: Run & { readonly pacer: PrefillPacer },
  report: (report: Report) => void,
): Promise<Done> {
  const { id, choices, maxOutputTokens } = run.command
  const counts = { outputTokens: 0, reasoningTokens: 0 }
  let decodeMs = 0
  const done = (cancelled: boolean): Done => ({ type: 'done', id, cancelled, ...counts, decodeMs: Math.round(decodeMs) })

  for (let choice = 0; choice < choices; choice++) {
    const startedMs = performance.now()
    const cachedTokens = await (choice === 0 ? readAndTell(loaded, run, report) : readPrompt(run, run.pacer))
    if (cachedTokens === 'cancelled') return done(true)
    let decodeFromMs: number | undefined
    const begin = () => {
      if (decodeFromMs !== undefined) return
      decodeFromMs = performance.now()
      if (choice === 0) report({ type: 'prompt-read', id, cachedTokens, prefillMs: Math.round(decodeFromMs - startedMs) })
    }
    if (maxOutputTokens === 0) begin()
    const end: ChoiceEnd = maxOutputTokens === 0 ? nothing : await decodeChoice(loaded, { ...run, choice, begin }, report)
    counts.outputTokens += end.outputTokens
    counts.reasoningTokens += end.reasoningTokens
    decodeMs += performance.now() - (decodeFromMs ?? performance.now())
    if (end.reason === 'cancelled') return done(true)
    const { reason, stopSequence } = end
    report({ type: 'choice-done', id, choice, reason, ...(stopSequence !== undefined && { stopSequence }) })
  }
  return done(false)
}

const nothing: ChoiceEnd = { reason: 'length', outputTokens: 0, reasoningTokens: 0 }

/** As `readPrompt`, and tells the prompt's tokens where they were asked for. */
async function readAndTell(
  loaded: WorkerModel,
  run: Run & { readonly pacer: PrefillPacer },
  report: (report: Report) => void,
): Promise<number | 'cancelled'> {
  const { id, tellPrompt } = run.command
  if (tellPrompt === undefined) return readPrompt(run, run.pacer)
  const tokens = [...run.command.tokens] as Token[]
  const tell = (told: readonly PromptToken[]) => report({ type: 'prompt-tokens', id, tokens: told })
  const { topLogprobs } = tellPrompt
  if (topLogprobs !== undefined) {
    const done = await scorePrompt(loaded, { ...run, tokens, topLogprobs, tell })
    if (!done) return 'cancelled'
    if (run.command.choices > 1) await run.slot.sequence.takeCheckpoint()
    return 0
  }
  tell(describePrompt(loaded, tokens))
  return readPrompt(run, run.pacer)
}

/** Computes all of the prompt but its last token, whose logits give the first token of the answer. */
async function readPrompt({ slot, command, control }: Run, pacer: PrefillPacer): Promise<number | 'cancelled'> {
  const { sequence } = slot
  const tokens = [...command.tokens.subarray(0, -1)] as Token[]
  await sequence.adaptStateToTokens(tokens, false)
  const cachedTokens = sequence.nextTokenIndex
  for await (const chunk of promptChunks(tokens.slice(cachedTokens), pacer)) {
    if (control.cancelled()) return 'cancelled'
    await sequence.evaluateWithoutGeneratingNewTokens(chunk)
  }
  // Models whose cache cannot be cut (recurrent ones) go back to this point for the next choice; for others it does nothing.
  if (command.choices > 1) await sequence.takeCheckpoint()
  return control.cancelled() ? 'cancelled' : cachedTokens
}
