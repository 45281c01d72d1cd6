import { thousandths } from '../../../../base/thousandths.ts'
import type { PromptToken } from '../../../../contract/event.ts'
import { type DraftKinds, sumDrafts } from '../../../../contract/usage.ts'
import { checkContextFit } from '../../../shared/context-fit.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { Report, RunCommand } from '../../channel/ipc.ts'
import type { WorkerModel } from '../model/model.ts'
import type { MediaReading } from '../rounds/prefill.ts'
import type { RunControl } from '../sampling/run-control.ts'
import { openMedia } from '../senses/prompt-media.ts'
import { fillSlot, type Kept, keepPrefix } from '../slots/fill-slot.ts'
import type { SlotLease } from '../slots/slot-pool.ts'
import type { Slot } from '../slots/slots.ts'
import { openChoice } from './choice.ts'
import { sampleInParallel } from './parallel-sampling.ts'
import { describePrompt, scorePrompt } from './score-prompt.ts'
import { healPrompt } from './token-healing.ts'

type ControlledCommand = { readonly command: RunCommand; readonly control: RunControl }

type Done = Extract<Report, { type: 'done' }>

/**
 * Generates for one request and reports progress: the prompt is read once, on the request's own slot, then its choices are sampled
 * in parallel. The caller reports the result, after this has released every slot.
 */
export async function decode(loaded: WorkerModel, asked: ControlledCommand, report: (report: Report) => void): Promise<Done> {
  const { command: healed, healing } = healPrompt(asked.command, loaded.vocabulary)
  const media = loaded.media && openMedia(healed, { store: loaded.media, ...loaded })
  const run = { ...asked, command: healed, media }
  const { id, choices, maxOutputTokens, tokens } = run.command
  // A worker that was restarted since the prompt was prepared may have found another file.
  checkContextFit({ inputTokens: tokens.length, outputTokens: maxOutputTokens, contextLength: loaded.context.contextSize })
  const counts = { outputTokens: 0, reasoningTokens: 0 }
  const drafts: DraftKinds[] = []
  let decodeFromMs: number | undefined
  let cancelled = false

  const first = await loaded.pool.take({}, run.command)
  const startedMs = performance.now()
  let keptTokens = 0
  let toldTokens: number | undefined
  const onRead = (readTokens: number) => {
    if (decodeFromMs !== undefined || run.command.tellsProgress !== true || readTokens === toldTokens) return
    toldTokens = readTokens
    const elapsedMs = thousandths(performance.now() - startedMs)
    report({ type: 'prompt-progress', id, cachedTokens: keptTokens, readTokens, elapsedMs })
  }
  const onKept = (count: number) => {
    keptTokens = count
    onRead(count)
  }
  const kept = await readPrompt(loaded, { ...run, echoed: asked.command.tokens, first, onKept, onRead }, report)
  const begin = () => {
    if (decodeFromMs !== undefined) return
    // The last token of a cached prompt is computed with the first of the answer.
    onRead(tokens.length)
    decodeFromMs = performance.now()
    const prefillMs = thousandths(decodeFromMs - startedMs)
    report({ type: 'prompt-read', id, cachedTokens: kept?.tokens ?? 0, cachedIn: kept?.from ?? 'slot', prefillMs })
  }
  if (kept === undefined) {
    cancelled = true
    first.giveBack()
  } else if (maxOutputTokens === 0) {
    begin()
    for (let choice = 0; choice < choices; choice++) report({ type: 'choice-done', id, choice, reason: 'length' })
    first.giveBack()
  } else {
    await sampleInParallel(loaded, {
      ...run,
      first,
      open: (index, control) =>
        openChoice(loaded, { command: run.command, media, healing, control, index, begin, onRead }, report),
      onEnd({ index, outputTokens, reasoningTokens, drafts: drafted }, { reason, stopSequence }) {
        counts.outputTokens += outputTokens
        counts.reasoningTokens += reasoningTokens
        if (drafted !== undefined) drafts.push(drafted)
        if (reason === 'cancelled') cancelled = true
        else report({ type: 'choice-done', id, choice: index, reason, stopSequence })
      },
    })
  }
  const decodeMs = decodeFromMs === undefined ? 0 : thousandths(performance.now() - decodeFromMs)
  const sum = sumDrafts(drafts)
  const drafted = loaded.openDrafter === undefined && sum.proposed === 0 ? {} : { drafts: sum }
  return { type: 'done', id, cancelled: cancelled || run.control.cancelled(), ...counts, ...drafted, decodeMs }
}

type PromptRun = ControlledCommand & {
  readonly media: MediaReading | undefined
  /** The prompt as the client sent it. */
  readonly echoed: Uint32Array
  readonly first: SlotLease<Slot>
  /** Called with the number of tokens that the slot already has. */
  readonly onKept: (kept: number) => void
  readonly onRead: (readTokens: number) => void
}

/**
 * Computes the prompt except its last token, whose logits give the first token of each choice, and reports the prompt's tokens if
 * requested. The only choice of a run reads the prompt itself. Returns what the slot already had; `undefined` when cancelled.
 */
async function readPrompt(
  loaded: WorkerModel,
  { command, media, echoed, control, first, onKept, onRead }: PromptRun,
  report: (report: Report) => void,
): Promise<Kept | undefined> {
  const { slot } = first
  const { id, owner, echoPrompt, choices, maxOutputTokens, pinsPrompt } = command
  const { prefixStore: store } = loaded
  const tokens = [...command.tokens] as Token[]
  const reportTokens = (reported: readonly PromptToken[]) => report({ type: 'prompt-tokens', id, tokens: reported })
  try {
    if (echoPrompt?.topLogprobs !== undefined) {
      await store?.save(slot, { owner, tokens: [] })
      slot.owner = owner
      slot.pinnedTokens = 0
      const isRead = await scorePrompt(loaded, {
        slot,
        control,
        tokens: [...echoed] as Token[],
        topLogprobs: echoPrompt.topLogprobs,
        report: reportTokens,
      })
      return isRead ? { tokens: 0, from: 'slot' } : undefined
    }
    if (echoPrompt !== undefined) reportTokens(describePrompt(loaded, [...echoed] as Token[]))
    // A busy slot may have the beginning, such as of an agent whose subordinates run beside it.
    const others = loaded.slots.filter((other) => other !== slot)
    const filling = { tokens, owner, spans: media?.spans ?? [], others, store, lastMessage: command.lastMessage }
    const kept = await keepPrefix(slot, filling)
    if (pinsPrompt === true) slot.pinnedTokens = tokens.length - 1
    onKept(kept.tokens)
    if (choices === 1 && maxOutputTokens !== 0) return kept
    const { pacer, rounds } = loaded
    const reading = { pacer, rounds, media, isOver: control.cancelled, onRead }
    return (await fillSlot(slot, filling, reading)) ? kept : undefined
  } catch (error) {
    // The failed step leaves unknown contents in the cache, as in `sampleInParallel`.
    await slot.sequence.clearHistory().catch(() => undefined)
    first.giveBack()
    throw error
  }
}
