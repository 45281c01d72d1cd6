import type { GeneratedToken } from '../../../../contract/event.ts'
import { AnswerStops } from '../../../../model-text/parse/answer-stops.ts'
import { watchReasoning } from '../../../shared/reasoning-watch.ts'
import { TokenTally } from '../../../shared/token-tally.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { Report } from '../../channel/ipc.ts'
import { machineMs } from '../../channel/machine-clock.ts'
import { choiceSeed } from '../../channel/resolve-sampling.ts'
import type { WorkerModel } from '../model/model.ts'
import type { PrefillPacer } from '../rounds/prefill-pacer.ts'
import type { ConstrainedOutput } from '../sampling/constrained-output.ts'
import { showToken, showTop } from '../sampling/describe-token.ts'
import { closeAtBudget } from '../sampling/reasoning-budget.ts'
import type { RunCommand, RunControl } from '../sampling/run-control.ts'
import { createBiases, samplerSteps } from '../sampling/sampling.ts'
import { type DraftCounts, Speculation } from '../sampling/speculation.ts'
import { openTokenSource, type SourcedToken, type TokenSource } from '../sampling/token-source.ts'
import type { Vocabulary } from '../sampling/vocabulary.ts'
import type { SlotLease } from '../slots/slot-pool.ts'
import type { Slot } from '../slots/slots.ts'
import { openConstrainedOutput } from './grammars.ts'

/** How one choice ended. */
export type ChoiceEnd = { readonly reason: 'stop' | 'length' | 'context-full' | 'cancelled'; readonly stopSequence?: string }

/** One choice in progress. It can leave its slot and continue on another one. */
export type Choice = {
  readonly index: number
  /** The prompt and the output so far. */
  readonly tokens: () => readonly Token[]
  /** Reads what the slot does not contain of them; generates and reports text until the choice has ended or its slot is recalled. */
  decode(lease: SlotLease<Slot>): Promise<ChoiceEnd | 'recalled'>
  readonly outputTokens: number
  readonly reasoningTokens: number
  /** Only with speculation. */
  readonly drafts: DraftCounts | undefined
  close(): void
}

/** A choice's view of its run. `begin` is called when the last token of the prompt is computed. */
type ChoiceRun = {
  readonly index: number
  readonly command: RunCommand
  readonly control: RunControl
  readonly pacer: PrefillPacer
  readonly begin: () => void
  /** Called after each step of the prompt. */
  readonly onRead: (readTokens: number) => void
}

/** Opens one choice of a run. It must be closed. */
export function openChoice(loaded: WorkerModel, run: ChoiceRun, report: (report: Report) => void): Choice {
  const { command, control, index } = run
  const { id, maxOutputTokens, plan, topLogprobs } = command
  const limit = maxOutputTokens ?? loaded.context.contextSize - command.tokens.length
  const output: Token[] = []
  // The bytes of an incomplete character at the end of the output are dropped.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const stops = new AnswerStops(command.stop, plan.format)
  const tally = topLogprobs === undefined ? undefined : new TokenTally<GeneratedToken>()
  const watch = watchReasoning(plan.format)
  const constrained = plan.grammar === undefined ? undefined : openConstrainedOutput(loaded, plan.grammar)
  const allows = (token: Token) => constrained?.allows(token) ?? true
  const inserted = closeAtBudget(loaded.model, { watch, command, allows })
  const speculation = openSpeculation(loaded, command)
  const source = openSource(loaded, run, { constrained, inserted, speculation })

  const send = (text: string, tokens: readonly GeneratedToken[] | undefined) => {
    if (text === '' && (tokens === undefined || tokens.length === 0)) return
    report({ type: 'text', id, choice: index, text, madeMs: machineMs(), ...(tokens !== undefined && { tokens }) })
  }
  /** Reports the text of the next token; returns the end if it is the last one. */
  const take = (next: SourcedToken): ChoiceEnd | undefined => {
    output.push(next.token)
    const text = decoder.decode(loaded.vocabulary.bytesOf(next.token), { stream: true })
    watch?.push(text)
    tally?.add(describe(loaded.vocabulary, next), text.length)
    const step = stops.push(text)
    const tokens = tally?.send(step.text.length)
    if (step.stopSequence !== undefined) tokens?.push(...(tally?.cut() ?? []))
    send(step.text, tokens)
    const { stopSequence } = step
    // What ends the turn by the template's own word is the model's end.
    if (stopSequence !== undefined) return { reason: 'stop', ...(command.stop.includes(stopSequence) && { stopSequence }) }
    if (output.length < limit) return undefined
    send(stops.end(), tally?.end())
    return { reason: maxOutputTokens === undefined ? 'context-full' : 'length' }
  }
  const endTurn = (): ChoiceEnd => {
    send(stops.end(), tally?.end())
    return { reason: 'stop' }
  }

  return {
    index,
    tokens: () => [...command.tokens, ...output] as Token[],
    async decode(lease) {
      const { sequence } = lease.slot
      for (;;) {
        const next = await source.next(sequence, unreadOf({ prompt: command.tokens, output }, sequence.nextTokenIndex))
        if (next === 'over') return { reason: 'cancelled' }
        run.begin()
        if (control.cancelled()) return { reason: 'cancelled' }
        const end = next === 'end' ? endTurn() : take(next)
        if (end !== undefined) return end
        const paused = control.paused()
        if (paused !== undefined) await Promise.race([paused, lease.whenRecalled])
        if (control.cancelled()) return { reason: 'cancelled' }
        if (lease.isRecalled) return 'recalled'
      }
    },
    get outputTokens() {
      return output.length
    },
    get reasoningTokens() {
      return watch?.tokens ?? 0
    },
    get drafts() {
      return speculation?.counts
    },
    close: () => source.close(),
  }
}

/** The tokens after the first `read` of them. */
function unreadOf({ prompt, output }: { prompt: Uint32Array; output: readonly Token[] }, read: number): readonly Token[] {
  const fromOutput = output.slice(Math.max(0, read - prompt.length))
  return read < prompt.length ? [...(prompt.subarray(read) as Iterable<number> as Iterable<Token>), ...fromOutput] : fromOutput
}

/** Tokens that are inserted depend on the text before them, which a draft would be ahead of. */
function openSpeculation({ openDrafter }: WorkerModel, { tokens, reasoningBudget }: RunCommand): Speculation | undefined {
  return openDrafter === undefined || reasoningBudget !== undefined ? undefined : new Speculation(openDrafter(tokens))
}

type SourceParts = {
  readonly speculation: Speculation | undefined
  readonly constrained: ConstrainedOutput | undefined
  readonly inserted: (() => Token | undefined) | undefined
}

function openSource(
  { model, vocabulary, context, rounds }: WorkerModel,
  { command, control, index, pacer, onRead }: ChoiceRun,
  { constrained, inserted, speculation }: SourceParts,
): TokenSource {
  const { sampling, tokens, topLogprobs, minOutputTokens } = command
  const banned = constrained === undefined ? [] : vocabulary.hiddenTokens
  const until = command.ignoreEos ? Number.POSITIVE_INFINITY : (minOutputTokens ?? 0)
  // A completely constrained output may end where the grammar allows nothing else, even before the minimum.
  const asLastResort = constrained !== undefined && command.plan.grammar?.isOpen !== true
  const held = until > 0 ? { tokens: vocabulary.endTokens, until, asLastResort } : undefined
  const seeded = { ...sampling, seed: choiceSeed(sampling.seed, index) }
  const steps = samplerSteps(seeded, { prompt: tokens, contextLength: context.contextSize })
  const reading = { pacer, rounds, isOver: control.cancelled, onRead }
  return openTokenSource(
    { model, reading },
    {
      sampling: { steps, biases: createBiases(sampling, { size: model.size, banned, held }) },
      steering: { topLogprobs, constrained, inserted, speculation },
    },
  )
}

function describe(vocabulary: Vocabulary, { token, score }: SourcedToken): GeneratedToken {
  return { ...showToken(vocabulary, token), logprob: score?.logprob ?? 0, top: showTop(vocabulary, score) }
}
