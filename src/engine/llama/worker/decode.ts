import type { Token } from 'node-llama-cpp'
import type { PromptToken } from '../../../contract/event.ts'
import { checkContextFit } from '../../context-fit.ts'
import type { Report } from '../channel/ipc.ts'
import { openChoice } from './choice.ts'
import { fillSlot } from './fill-slot.ts'
import type { WorkerModel } from './model.ts'
import type { PrefillPacer } from './prefill.ts'
import { runChoices } from './run-choices.ts'
import type { RunCommand, RunControl } from './run-control.ts'
import { describePrompt, scorePrompt } from './score-prompt.ts'
import type { Lease, SlotPool } from './slot-pool.ts'
import type { Slot } from './slots.ts'

/** One request at work: what it wants, how it is steered, and where it gets its slots. */
export type Run = {
  readonly command: RunCommand
  readonly control: RunControl
  readonly pacer: PrefillPacer
  readonly pool: SlotPool<Slot>
}

type Done = Extract<Report, { type: 'done' }>

/**
 * Generates for one request, and reports as it goes: the prompt is read once, on a slot of its own, and its choices are then
 * generated side by side. The result is to be reported when this returns: every slot is free then.
 */
export async function decode(loaded: WorkerModel, run: Run, report: (report: Report) => void): Promise<Done> {
  const { id, choices, maxOutputTokens, tokens } = run.command
  // A worker that was restarted since the prompt was prepared may have found another file.
  checkContextFit({ inputTokens: tokens.length, outputTokens: maxOutputTokens, contextLength: loaded.context.contextSize })
  const counts = { outputTokens: 0, reasoningTokens: 0 }
  let decodeFromMs: number | undefined
  let cancelled = false

  const first = await run.pool.take({}, tokens)
  const startedMs = performance.now()
  const cachedTokens = await readAndTell(loaded, { ...run, first }, report)
  const begin = () => {
    if (decodeFromMs !== undefined) return
    decodeFromMs = performance.now()
    report({ type: 'prompt-read', id, cachedTokens: cachedTokens ?? 0, prefillMs: Math.round(decodeFromMs - startedMs) })
  }
  if (cachedTokens === undefined) {
    cancelled = true
    first.giveBack()
  } else if (maxOutputTokens === 0) {
    begin()
    for (let choice = 0; choice < choices; choice++) report({ type: 'choice-done', id, choice, reason: 'length' })
    first.giveBack()
  } else {
    await runChoices({
      ...run,
      first,
      open: (index, control) => openChoice(loaded, { command: run.command, control, index, begin }, report),
      onEnd({ index, outputTokens, reasoningTokens }, { reason, stopSequence }) {
        counts.outputTokens += outputTokens
        counts.reasoningTokens += reasoningTokens
        if (reason === 'cancelled') cancelled = true
        else report({ type: 'choice-done', id, choice: index, reason, ...(stopSequence !== undefined && { stopSequence }) })
      },
    })
  }
  const decodeMs = decodeFromMs === undefined ? 0 : Math.round(performance.now() - decodeFromMs)
  return { type: 'done', id, cancelled: cancelled || run.control.cancelled(), ...counts, decodeMs }
}

/**
 * Computes all of the prompt but its last token, whose logits give the first token of each answer; and tells the prompt's
 * tokens where they were asked for. Gives how many were in the slot already; `undefined` when it was cancelled.
 */
async function readAndTell(
  loaded: WorkerModel,
  { command, control, pacer, first }: Run & { readonly first: Lease<Slot> },
  report: (report: Report) => void,
): Promise<number | undefined> {
  const { slot } = first
  const { id, tellPrompt } = command
  const tokens = [...command.tokens] as Token[]
  const tell = (told: readonly PromptToken[]) => report({ type: 'prompt-tokens', id, tokens: told })
  try {
    if (tellPrompt?.topLogprobs !== undefined) {
      const isRead = await scorePrompt(loaded, { slot, control, tokens, topLogprobs: tellPrompt.topLogprobs, tell })
      return isRead ? 0 : undefined
    }
    if (tellPrompt !== undefined) tell(describePrompt(loaded, tokens))
    return await fillSlot(slot, { tokens: tokens.slice(0, -1), others: [], pacer, isOver: control.cancelled })
  } catch (error) {
    // What the failed step left in the cache is unknown, as in `runChoices`.
    await slot.sequence.clearHistory().catch(() => undefined)
    first.giveBack()
    throw error
  }
}
