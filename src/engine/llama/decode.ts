import type { Token } from 'node-llama-cpp'
import { StopStrings } from '../../core/parse/stop-strings.ts'
import type { Command, Report } from './ipc.ts'
import type { WorkerModel } from './model.ts'
import { type PrefillPacer, promptChunks } from './prefill.ts'
import { evaluateOptions } from './sampling.ts'
import type { Slot } from './slots.ts'

type RunCommand = Extract<Command, { type: 'run' }>

/** How a run is steered from outside while it goes on. */
export type RunControl = {
  readonly cancelled: () => boolean
  /** While the reader is behind: resolves when it has caught up. */
  readonly whenWanted: () => Promise<void> | undefined
}

type Done = Extract<Report, { type: 'done' }>

/** Generates for one request on its slot, and reports as it goes. The result is to be reported once the slot is free. */
export async function decode(
  loaded: WorkerModel,
  { slot, command, control, pacer }: { slot: Slot; command: RunCommand; control: RunControl; pacer: PrefillPacer },
  report: (report: Report) => void,
): Promise<Done> {
  const { id, maxOutputTokens } = command
  const { sequence } = slot
  const output: Token[] = []
  const done = (reason: Done['reason'], decodeMs: number, stopSequence?: string): Done => ({
    type: 'done',
    id,
    reason,
    outputTokens: output.length,
    decodeMs,
    ...(stopSequence !== undefined && { stopSequence }),
  })

  const startedMs = performance.now()
  const tokens = [...command.tokens] as Token[]
  const last = tokens.pop() as Token
  // The last token is always computed: its logits give the first token of the answer.
  await sequence.adaptStateToTokens(tokens, false)
  const cachedTokens = sequence.nextTokenIndex
  for await (const chunk of promptChunks(tokens.slice(cachedTokens), pacer)) {
    if (control.cancelled()) return done('cancelled', 0)
    await sequence.evaluateWithoutGeneratingNewTokens(chunk)
  }
  if (control.cancelled()) return done('cancelled', 0)

  // Bytes of a character that the output ends inside of are not text, and are left out.
  const text = new TextDecoder('utf-8', { ignoreBOM: true })
  const stops = new StopStrings(command.stop)
  const send = (piece: string) => {
    if (piece !== '') report({ type: 'text', id, text: piece })
  }
  const options = evaluateOptions(command.sampling, {
    model: loaded.model,
    vocabulary: loaded.vocabulary,
    history: { prompt: command.tokens, output },
    ignoreEos: command.ignoreEos,
    contextLength: sequence.contextSize,
  })
  let decodeFromMs: number | undefined
  const decodeMs = () => (decodeFromMs === undefined ? 0 : Math.round(performance.now() - decodeFromMs))
  const begin = () => {
    if (decodeFromMs !== undefined) return
    decodeFromMs = performance.now()
    report({ type: 'prompt-read', id, cachedTokens, prefillMs: Math.round(decodeFromMs - startedMs) })
  }

  for await (const token of sequence.evaluate([last], options)) {
    begin()
    if (control.cancelled()) return done('cancelled', decodeMs())
    output.push(token)
    const step = stops.push(text.decode(loaded.vocabulary.bytesOf(token), { stream: true }))
    send(step.text)
    if (step.stop !== undefined) return done('stop', decodeMs(), step.stop)
    if (output.length >= maxOutputTokens) {
      send(stops.end())
      return done('length', decodeMs())
    }
    const paused = control.whenWanted()
    if (paused === undefined) continue
    await paused
    if (control.cancelled()) return done('cancelled', decodeMs())
  }
  begin()
  send(stops.end())
  return done('stop', decodeMs())
}
