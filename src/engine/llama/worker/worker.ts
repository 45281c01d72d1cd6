import { setTimeout } from 'node:timers/promises'
import { ChurnMap } from '../../../base/churn.ts'
import { AppError } from '../../../contract/errors.ts'
import { readFileSampling } from '../channel/file-sampling.ts'
import { type Command, commandSchema, type Report } from '../channel/ipc.ts'
import { decode } from './answers/decode.ts'
import { computeAndForget } from './context/context.ts'
import { isCausal } from './embed/pooling.ts'
import { LoadErrors } from './load-errors.ts'
import { loadModel, type WorkerModel } from './model/model.ts'
import { readTemplatePart } from './model/model-template.ts'
import { Outbox } from './outbox.ts'
import { endWithParent } from './parent-watch.ts'
import { handleRequest } from './prompt/handle-request.ts'
import { canInfill } from './prompt/infill.ts'
import { prepareGeneration } from './prompt/prepare.ts'
import { warmUp } from './rounds/prefill.ts'
import type { PrefillPacer } from './rounds/prefill-pacer.ts'
import { SlotPool } from './slots/slot-pool.ts'
import type { Slot } from './slots/slots.ts'

/** The child process of one model: loads it, prepares prompts, generates, and ends with its parent. */

type Running = { cancelled: boolean; resume: (() => void) | undefined; paused: Promise<void> | undefined }

type Loaded = { readonly model: WorkerModel; readonly pacer: PrefillPacer; readonly pool: SlotPool<Slot> }

const shortStepsHint =
  'a step of 64 tokens of a prompt takes longer here than `stopWithinMs` allows; in shorter steps a token takes up to twice as long: a ' +
  'larger `stopWithinMs` makes long prompts faster, but running streams wait, and a cancelled prompt may go on, for that long'

let loaded: Loaded | undefined
const running = new ChurnMap<string, Running>()

const outbox = new Outbox<Report>((reports) => process.send?.(reports))
const report = (message: Report): void => outbox.add(message)

async function load({ options }: Extract<Command, { type: 'load' }>): Promise<void> {
  const errors = new LoadErrors()
  try {
    const model = await loadModel(options, {
      onProgress: (progress) => report({ type: 'loading', progress }),
      onLog: (level, message) => {
        errors.note(level, message)
        report({ type: 'log', level: level === 'error' || level === 'fatal' ? 'error' : 'debug', message })
      },
      onWarning: (message) => report({ type: 'log', level: 'warn', message }),
    })
    // Each of the other slots may generate a token in the same batch.
    const pacer = model.createPacer(Math.max(1, model.context.batchSize - options.slots), () =>
      report({ type: 'log', level: 'warn', message: shortStepsHint }),
    )
    const [slot] = model.slots
    if (slot !== undefined) await warmUp((tokens) => computeAndForget(slot.sequence, tokens), pacer)
    loaded = { model, pacer, pool: new SlotPool(model.slots) }
    report({
      type: 'ready',
      contextLength: model.context.contextSize,
      trainedContextLength: model.model.trainContextSize,
      vocabularySize: model.vocabulary.size,
      description: model.model.typeDescription,
      embeddingLength: model.model.embeddingVectorSize,
      endTexts: model.vocabulary.endTexts,
      fileSampling: readFileSampling((model.model.fileInfo.metadata.general as { readonly sampling?: unknown }).sampling),
      ...(model.templateSource.own !== undefined && { chatTemplate: model.templateSource.own }),
      ...(model.embedder.pooling === 'rank' && { ranks: true as const }),
      ...(canInfill(model.model) && { infills: true as const }),
      ...(!isCausal(model.model) && { onlyEmbeds: true as const }),
    })
  } catch (error) {
    // The log that explains it comes through a queue of its own, and may be later than the failure.
    await setTimeout(20)
    report({ type: 'load-failed', message: errors.explain(error) })
  }
}

async function prepare(command: Extract<Command, { type: 'prepare' }>): Promise<void> {
  try {
    const { model } = requireLoaded()
    if (!isCausal(model.model)) {
      const message = 'this model is an encoder and cannot generate text; use it for embeddings or ranking'
      throw new AppError('invalid-request', message, { at: ['model'] })
    }
    report({ type: 'prepared', id: command.id, ...(await prepareGeneration(model, command)) })
  } catch (error) {
    reportFailure(command.id, error)
  }
}

async function ask({ id, request }: Extract<Command, { type: 'ask' }>): Promise<void> {
  const state: Running = { cancelled: false, resume: undefined, paused: undefined }
  running.set(id, state)
  try {
    report({ type: 'answered', id, reply: await handleRequest(requireLoaded().model, request, () => state.cancelled) })
  } catch (error) {
    reportFailure(id, error)
  } finally {
    running.delete(id)
  }
}

/** Synchronous, so that every other command sees the model before or after it. Running requests keep the earlier template. */
function useTemplate({ id, choice }: Extract<Command, { type: 'use-template' }>): void {
  try {
    const now = requireLoaded()
    const { model } = now
    const part = readTemplatePart(model.model, model.templateSource, choice)
    if (choice.type !== 'none') part.template()
    loaded = { ...now, model: { ...model, ...part } }
    report({ type: 'template-used', id })
  } catch (error) {
    reportFailure(id, error)
  }
}

/** Nothing runs any more on the slots that are free, and nothing will. */
async function savePrefixes({ id }: Extract<Command, { type: 'save-prefixes' }>): Promise<void> {
  const { slots = [], prefixStore } = loaded?.model ?? {}
  const free = slots.filter(({ busy }) => !busy).sort((a, b) => a.lastUsed - b.lastUsed)
  for (const slot of free) await prefixStore?.save(slot, [])
  report({ type: 'prefixes-saved', id })
}

async function run(command: Extract<Command, { type: 'run' }>): Promise<void> {
  const { id } = command
  const state: Running = { cancelled: false, resume: undefined, paused: undefined }
  running.set(id, state)
  try {
    const { model, pacer, pool } = requireLoaded()
    const control = { cancelled: () => state.cancelled, paused: () => state.paused }
    report(await decode(model, { command, control, pacer, pool }, report))
  } catch (error) {
    reportFailure(id, error)
  } finally {
    running.delete(id)
  }
}

function steer(id: string, how: 'cancel' | 'pause' | 'resume'): void {
  const state = running.get(id)
  if (state === undefined) return
  if (how === 'pause') {
    state.paused ??= new Promise((resolve) => {
      state.resume = resolve
    })
    return
  }
  if (how === 'cancel') {
    state.cancelled = true
    loaded?.model.rounds.interruptIfOver()
    loaded?.model.embedder.interruptIfOver()
  }
  state.resume?.()
  state.resume = undefined
  state.paused = undefined
}

function reportFailure(id: string, error: unknown): void {
  const known = error instanceof AppError ? error : new AppError('engine-failed', `the engine failed: ${String(error)}`)
  const { code, template: message, at, overflow } = known
  report({
    type: 'failed',
    id,
    failure: { code, message, ...(at !== undefined && { at }), ...(overflow !== undefined && { overflow }) },
  })
}

/** An invalid command fails only its own request. */
function refuse(message: unknown, reason: Error): void {
  const id = typeof message === 'object' && message !== null && 'id' in message ? String(message.id) : ''
  reportFailure(id, new AppError('internal', 'the worker received an invalid command', { cause: reason }))
}

function requireLoaded(): Loaded {
  if (loaded === undefined) throw new AppError('internal', 'the worker received work before its model was loaded')
  return loaded
}

process.on('message', (message) => {
  const { data: command, error } = commandSchema.safeParse(message)
  if (command === undefined) return refuse(message, error)
  switch (command.type) {
    case 'load':
      void load(command)
      break
    case 'prepare':
      void prepare(command)
      break
    case 'run':
      void run(command)
      break
    case 'ask':
      void ask(command)
      break
    case 'use-template':
      useTemplate(command)
      break
    case 'save-prefixes':
      void savePrefixes(command)
      break
    case 'ping':
      report({ type: 'pong' })
      break
    case 'cancel':
    case 'pause':
    case 'resume':
      steer(command.id, command.type)
      break
  }
})
// Without the parent, the output has no reader. A busy process learns of it from the other thread.
endWithParent(Number(process.argv[2] ?? process.ppid))
process.on('disconnect', () => process.exit(0))
// Ctrl-C in a terminal, its closing, and a service manager's stop signal the whole process group; the parent lets requests end, and then kills
// its workers itself.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
