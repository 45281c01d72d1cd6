import { setTimeout } from 'node:timers/promises'
import type { ZodError } from 'zod'
import { ChurnMap } from '../../../base/churn.ts'
import { AppError } from '../../../contract/errors.ts'
import { readFileSampling } from '../channel/file-sampling.ts'
import { type Command, commandSchema, llamaBuilds, type Report } from '../channel/ipc.ts'
import { decode } from './answers/decode.ts'
import { computeAndForget } from './context/context.ts'
import { isCausal } from './embed/pooling.ts'
import { LoadErrors } from './load-errors.ts'
import { loadModel, type WorkerModel } from './model/model.ts'
import { forPrompt, readTemplatePart, underTemplate } from './model/model-template.ts'
import { Outbox } from './outbox.ts'
import { endWithParent } from './parent-watch.ts'
import { handleRequest } from './prompt/handle-request.ts'
import { canInfill } from './prompt/infill.ts'
import { preparePrompt } from './prompt/prompt.ts'
import { warmUp } from './rounds/prefill.ts'

/** The child process of one model: loads it, prepares prompts, generates, and ends with its parent. */

type Running = { cancelled: boolean; resume: (() => void) | undefined; paused: Promise<void> | undefined }

/** The process that started this one and, if a worker has run before, the build of llama.cpp that it ran. */
const [, , parent = process.ppid, build] = process.argv
const knownBuild = llamaBuilds.find((one) => one === build)

let loaded: WorkerModel | undefined
const running = new ChurnMap<string, Running>()

type Wanted = { readonly take: (base64: string) => void; readonly fail: (error: AppError) => void }
/** Those who wait for media that were asked for. */
const wanted = new ChurnMap<string, readonly Wanted[]>()

const outbox = new Outbox<Report>((reports) => process.send?.(reports))
const report = (message: Report): void => outbox.add(message)

async function load({ options }: Extract<Command, { type: 'load' }>): Promise<void> {
  const errors = new LoadErrors()
  try {
    const model = await loadModel(
      options,
      {
        onProgress: (progress) => report({ type: 'loading', progress }),
        onLog: (level, message) => {
          errors.note(level, message)
          // Memory that could not be locked is a failed setting, though the model loads.
          const ordinary = level === 'warn' && message.includes('mlock') ? 'warn' : 'debug'
          report({ type: 'log', level: level === 'error' || level === 'fatal' ? 'error' : ordinary, message })
        },
        onWarning: (message) => report({ type: 'log', level: 'warn', message }),
        onWanted: fetchMedia,
      },
      knownBuild,
    )
    const [slot] = model.slots
    if (slot !== undefined) await warmUp((tokens) => computeAndForget(slot.sequence, tokens), model.pacer)
    loaded = model
    report({
      type: 'ready',
      build: model.model.llama.gpu || 'cpu',
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
      ...(model.media !== undefined && { reads: model.media.reads }),
    })
  } catch (error) {
    // The log that explains it comes through a queue of its own, and may be later than the failure.
    await setTimeout(20)
    report({ type: 'load-failed', message: errors.explain(error) })
  }
}

function fetchMedia(sha256: string): Promise<string> {
  const others = wanted.get(sha256) ?? []
  if (others.length === 0) report({ type: 'media-wanted', sha256 })
  return new Promise((take, fail) => wanted.set(sha256, [...others, { take, fail }]))
}

function takeMedia({ sha256, base64 }: Extract<Command, { type: 'media' }>): void {
  const waiting = wanted.get(sha256) ?? []
  wanted.delete(sha256)
  for (const { take, fail } of waiting) {
    if (base64 !== undefined) take(base64)
    else fail(new AppError('cancelled', 'the request of the media has ended'))
  }
}

/** Does the work of a command; a failure fails only its request. */
async function attempt(id: string, work: (model: WorkerModel) => Promise<void> | void): Promise<void> {
  try {
    if (loaded === undefined) throw new AppError('internal', 'the worker received work before its model was loaded')
    await work(loaded)
  } catch (error) {
    reportFailure(id, error)
  }
}

/** As `attempt`, for work that can be steered meanwhile. */
async function attemptSteered(id: string, work: (model: WorkerModel, state: Running) => Promise<void>): Promise<void> {
  const state: Running = { cancelled: false, resume: undefined, paused: undefined }
  running.set(id, state)
  await attempt(id, (model) => work(model, state))
  running.delete(id)
}

function refuseEncoder({ model }: WorkerModel): void {
  if (isCausal(model)) return
  const message = 'this model is an encoder and cannot generate text; use it for embeddings or ranking'
  throw new AppError('invalid-request', message, { at: ['model'] })
}

/** Synchronous, so that every other command sees the model before or after it. Running requests keep the earlier template. */
function useTemplate(model: WorkerModel, { id, choice }: Extract<Command, { type: 'use-template' }>): void {
  const part = readTemplatePart(model.model, model.templateSource, choice)
  if (choice.type !== 'none') part.template()
  loaded = { ...model, ...part }
  report({ type: 'template-used', id })
}

/** The free slots are idle, and no work will follow. */
async function savePrefixes({ id }: Extract<Command, { type: 'save-prefixes' }>): Promise<void> {
  const { slots = [], prefixStore } = loaded ?? {}
  await prefixStore?.saveAll(slots.filter(({ busy }) => !busy))
  report({ type: 'prefixes-saved', id })
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
    loaded?.rounds.interruptIfOver()
    loaded?.embedder.interruptIfOver()
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

/** An invalid command fails only its own request, or the load. */
function refuse(message: unknown, { issues }: Pick<ZodError, 'issues'>): void {
  const { type, id = '' } = message as { readonly type?: unknown; readonly id?: unknown }
  const problems = issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')
  const failure = new AppError('internal', `the worker received an invalid command (${problems})`)
  if (type === 'load') report({ type: 'load-failed', message: failure.message })
  else reportFailure(String(id), failure)
}

process.on('message', (message) => {
  const { data: command, error } = commandSchema.safeParse(message)
  if (command === undefined) return refuse(message, error)
  switch (command.type) {
    case 'load':
      void load(command)
      break
    case 'prepare':
      void attempt(command.id, async (model) => {
        refuseEncoder(model)
        report({ type: 'prepared', id: command.id, ...(await preparePrompt(forPrompt(model, command.prompt), command)) })
      })
      break
    case 'run':
      void attemptSteered(command.id, async (model, state) => {
        const control = { cancelled: () => state.cancelled, paused: () => state.paused }
        report(await decode(underTemplate(model, command.template), { command, control }, report))
      })
      break
    case 'ask':
      void attemptSteered(command.id, async (model, state) => {
        const reply = await handleRequest(model, command.request, () => state.cancelled)
        report({ type: 'answered', id: command.id, reply })
      })
      break
    case 'use-template':
      void attempt(command.id, (model) => useTemplate(model, command))
      break
    case 'save-prefixes':
      void savePrefixes(command)
      break
    case 'spare-memory':
      void loaded?.prefixStore?.limitMemory(command.bytes)
      break
    case 'media':
      takeMedia(command)
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
// Without the parent, nobody reads the output. A busy process notices through the other thread.
endWithParent(Number(parent))
process.on('disconnect', () => process.exit(0))
// Ctrl-C, closing a terminal, and a service manager's stop signal the whole process group; the parent lets requests end, then kills its
// workers itself. SIGUSR1 would open Node's debugger.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'] as const) process.on(signal, () => undefined)
// A file beyond the limit of this process is an error of its write.
process.on('SIGXFSZ', () => undefined)
