import { execFile } from 'node:child_process'
import { access, constants, mkdir, statfs } from 'node:fs/promises'
import { promisify } from 'node:util'
import { createSandboxTools } from '../app/generating/tools.ts'
import { printableLines } from '../app/log/printable.ts'
import { installedLlamaPackage } from '../app/models/llama-package.ts'
import { expectedContext, roomFor } from '../app/models/memory/memory-sharing.ts'
import { expectedPlacement } from '../app/models/memory/placement.ts'
import { connectStore, describeStore } from '../app/state/configured-store.ts'
import type { LoadedConfig } from '../config/load.ts'
import { messageOf } from '../contract/errors.ts'
import { findBackend } from '../engine/llama/find-backend.ts'
import { hasFiles } from '../lifecycle/fetch-files.ts'
import { locateModelFile } from '../registry/fetch/fetch-model.ts'
import { huggingFaceAddress } from '../registry/fetch/hugging-face.ts'
import { describeContext } from '../registry/gguf/choose-context.ts'
import { readFacts } from '../registry/gguf/memory-need.ts'
import { builtinModel } from '../registry/names/builtin-model.ts'
import { formatBytes } from '../registry/names/format-bytes.ts'
import { budgetBytes } from '../registry/names/memory.ts'
import { absentHere } from './absent-here.ts'
import { describeMedia, sensesHere } from './models/model-media.ts'
import { isServing, listModels, type ServerAddress } from './servers/client.ts'
import { commandName } from './terminal/command-name.ts'

/** The result of one check. A `warn` matters only for the purpose that its advice names. */
type Finding = {
  readonly name: string
  readonly result: 'ok' | 'warn' | 'fail'
  readonly detail: string
  readonly advice?: string
}

type DoctorOptions = { readonly server: ServerAddress; readonly loadConfig: () => Promise<LoadedConfig> }

const smallestFreeBytes = 2e9
const answerTimeoutMs = 5000

/** Checks that this machine can serve models, and prints the results. Returns the exit code: 1 if a check failed. */
export async function diagnose(options: DoctorOptions): Promise<number> {
  let failed = false
  for await (const finding of examine(options)) {
    failed ||= finding.result === 'fail'
    console.log(printableLines(formatFinding(finding)))
  }
  return failed ? 1 : 0
}

async function* examine({ server, loadConfig }: DoctorOptions): AsyncGenerator<Finding, void, void> {
  // These wait for other programs and servers, so they run while the rest is examined.
  const slow = [checkPip(), checkHuggingFace(huggingFaceAddress(process.env.HF_ENDPOINT)), checkServer(server)]
  yield { name: 'Node.js', result: 'ok', detail: `${process.versions.node} on ${process.platform} ${process.arch}` }
  const config = await loadConfig().catch((error: unknown) => error)
  if (config instanceof Error) {
    yield { name: 'configuration', result: 'fail', detail: config.message, advice: 'fix the file or the variable that is named' }
  } else {
    const loaded = config as LoadedConfig
    const { home, models } = loaded
    yield { name: 'configuration', result: 'ok', detail: `models: ${models.map(({ id }) => id).join(', ')}` }
    for (const detail of await absentHere(loaded, process.env)) yield { name: 'configuration', result: 'fail', detail }
    const { gpus, ...backend } = await checkBackend(home)
    yield backend
    yield await checkHome(home)
    yield await checkStore(loaded)
    yield* checkMedia(loaded)
    yield* checkContexts(loaded)
    yield* checkPlacements(loaded, gpus)
    yield* checkDrafts(loaded)
    yield* checkSandbox(loaded)
  }
  for (const finding of slow) yield await finding
}

function formatFinding({ name, result, detail, advice }: Finding): string {
  const mark = { ok: '✓', warn: '!', fail: '✗' }[result]
  return `${mark} ${name.padEnd(14)} ${detail}${advice === undefined ? '' : `\n${' '.repeat(17)}${advice}`}`
}

async function checkBackend(home: string): Promise<Finding & { readonly gpus: readonly Gpu[] | undefined }> {
  const enginePath = await installedLlamaPackage(home)
  if (enginePath === 'missing')
    return { name: 'llama.cpp', result: 'ok', detail: 'is installed with the first model that needs it', gpus: undefined }
  const backend = await findBackend({
    modelPath: builtinModel.path,
    enginePath: enginePath === 'beside' ? undefined : enginePath,
  })
  if ('failure' in backend) {
    const advice = 'reinstall with `npm ci`; with a GPU build, see docs/gpu.md; without a prebuilt llama.cpp, use a remote engine'
    return { name: 'llama.cpp', result: 'fail', detail: backend.failure, advice, gpus: undefined }
  }
  const { gpus } = backend
  const names = gpus.map(({ name, description, freeBytes }) => `${name} (${description}, ${formatBytes(freeBytes)} free)`)
  const gpu = backend.gpu === 'none' ? 'no GPU build or no GPU' : `${backend.gpu}: ${names.join(', ')}`
  return { name: 'llama.cpp', result: 'ok', detail: `computes; ${backend.mathCores} CPU cores; ${gpu}`, gpus }
}

async function checkHome(home: string): Promise<Finding> {
  try {
    await mkdir(home, { recursive: true })
    await access(home, constants.W_OK)
    const { bavail, bsize } = await statfs(home)
    const freeBytes = bavail * bsize
    const detail = `${home}, ${formatBytes(freeBytes)} free`
    if (freeBytes >= smallestFreeBytes) return { name: 'models folder', result: 'ok', detail }
    return { name: 'models folder', result: 'warn', detail, advice: 'most models need more; set DRAGOMAN_HOME to another disk' }
  } catch (error) {
    const detail = `${home}: ${messageOf(error)}`
    return { name: 'models folder', result: 'fail', detail, advice: 'set DRAGOMAN_HOME to a writable folder' }
  }
}

async function checkStore(config: LoadedConfig): Promise<Finding> {
  try {
    const store = await connectStore(config)
    await store?.close()
    return { name: 'store', result: 'ok', detail: describeStore(config) }
  } catch (error) {
    return { name: 'store', result: 'fail', detail: messageOf(error) }
  }
}

/** What reads pictures and sounds here, and which models have a projector for that. */
async function* checkMedia(config: LoadedConfig): AsyncGenerator<Finding, void, void> {
  const { findLibrary, findServer } = sensesHere(config)
  const llamaServer = findServer()
  const name = 'media'
  const library = findLibrary()
  const advice = 'only models that read them need it: `npm run senses` builds it, with cmake and a C++ compiler'
  if (library !== undefined) yield { name, result: 'ok', detail: `the embedded engine reads pictures and sounds: ${library}` }
  else {
    const instead =
      llamaServer === undefined
        ? 'and there is no llama-server: `dragoman runtime get` fetches one'
        : `so ${llamaServer} runs models that read them`
    const detail = `the library for pictures and sounds is not here, ${instead}`
    yield { name, result: 'warn', detail, advice }
  }
  for (const model of config.models) {
    if (!hasFiles(model)) continue
    const media = await describeMedia(model, config).catch(() => undefined)
    if (media !== undefined && media.reads.length > 0) {
      yield { name, result: 'ok', detail: `${model.id} reads ${media.reads.join(' and ')}` }
    }
  }
}

/** The context of each model whose file is present and whose configuration sets none. */
async function* checkContexts({ models, home, memory }: LoadedConfig): AsyncGenerator<Finding, void, void> {
  const sharing = models.filter(({ engine, load }) => (engine === 'llama' || engine === 'llama-server') && load === 'start')
  const room = roomFor(budgetBytes(memory.budget), sharing.length)
  for (const model of models) {
    if ((model.engine !== 'llama' && model.engine !== 'llama-server') || model.contextLength !== undefined) continue
    const file = await locateModelFile(model.source, home)
    const choice = file && (await expectedContext(model, { modelPath: file.path }, room).catch(() => undefined))
    if (choice === undefined) continue
    const result = choice.longest.some(({ contextLength }) => contextLength >= choice.contextLength) ? 'ok' : 'warn'
    const advice = 'it does not fit into memory.budget: choose a smaller quantization, or raise it'
    const detail = `${model.id}: ${describeContext(choice)}`
    yield { name: 'context', result, detail, ...(result === 'warn' && { advice }) }
  }
}

type Gpu = Extract<Awaited<ReturnType<typeof findBackend>>, { gpu: string }>['gpus'][number]

/** Where the weights of models of the embedded engine will be, if a GPU is here or a model names one. `gpus`: undefined while unknown. */
async function* checkPlacements(
  { models, home, memory }: LoadedConfig,
  gpus: readonly Gpu[] | undefined,
): AsyncGenerator<Finding, void, void> {
  if (gpus === undefined) return
  const name = 'placement'
  for (const model of models) {
    if (model.engine !== 'llama') continue
    const missing = missingDevice(model, gpus)
    if (missing !== undefined) {
      const [setting, problem] = missing
      const advice = `llama.cpp finds ${gpus.map((gpu) => gpu.name).join(', ') || 'no GPU'} here: change \`${setting}\``
      yield { name, result: 'fail', detail: `${model.id}: ${problem}`, advice }
      continue
    }
    const used = gpus.filter((gpu) => model.devices?.includes(gpu.name) !== false)
    const file = used.length === 0 ? undefined : await locateModelFile(model.source, home)
    const room = roomFor(budgetBytes(memory.budget), models.length)
    const detail = file && (await expectedPlacement(model, { path: file.path, room, gpus: used }).catch(() => undefined))
    if (detail !== undefined) yield { name, result: 'ok', detail: `${model.id}: ${detail}` }
  }
}

type Placed = Extract<LoadedConfig['models'][number], { engine: 'llama' }>

/** The setting that is for GPUs which are not here, and how. */
function missingDevice(
  { devices, tensorSplit = [], mainGpu }: Placed,
  gpus: readonly Gpu[],
): readonly [string, string] | undefined {
  const absent = devices?.find((device) => gpus.every((gpu) => gpu.name !== device))
  if (absent !== undefined) return ['devices', `there is no device ${absent}`]
  const count = devices?.length ?? gpus.length
  if (tensorSplit.length > count) return ['tensorSplit', `\`tensorSplit\` has ${tensorSplit.length} shares`]
  return mainGpu !== undefined && mainGpu >= count ? ['mainGpu', `\`mainGpu\` is ${mainGpu}, counted from 0`] : undefined
}

/** Models that shall draft with layers of their own, and have none. */
async function* checkDrafts({ models, home }: LoadedConfig): AsyncGenerator<Finding, void, void> {
  for (const model of models) {
    if (!hasFiles(model) || model.speculation?.type !== 'mtp') continue
    const file = await locateModelFile(model.source, home)
    const facts = file && (await readFacts(file.path))
    if (facts === undefined || facts.headLayers.length > 0) continue
    const detail = `${model.id}: its file has no layers that predict further tokens`
    yield { name: 'drafts', result: 'fail', detail, advice: 'remove `speculation`, or use a file with multi-token prediction' }
  }
}

/** The tools that run programs, if the configuration turns them on. */
async function* checkSandbox(config: LoadedConfig): AsyncGenerator<Finding, void, void> {
  const sandbox = await createSandboxTools(config)
  if (sandbox === undefined) return
  const { tools, absent } = await sandbox.list()
  await sandbox.close()
  for (const { name } of tools) yield { name: 'tools', result: 'ok', detail: `${name}: its programs are isolated` }
  for (const { name, why } of absent) {
    const advice = `the server has no ${name} then, as programs never run without isolation; docs/tools.md`
    yield { name: 'tools', result: 'warn', detail: `${name}: ${why}`, advice }
  }
}

async function checkPip(): Promise<Finding> {
  try {
    const { stdout } = await promisify(execFile)('python3', ['-m', 'pip', '--version'], { timeout: answerTimeoutMs })
    return { name: 'pip', result: 'ok', detail: `${stdout.split(' from ')[0]?.trim()}, for \`wheel:\` sources` }
  } catch {
    const advice = 'only `wheel:` sources need it: install Python 3 with pip to use them'
    return { name: 'pip', result: 'warn', detail: '`python3 -m pip` does not run', advice }
  }
}

async function checkHuggingFace(endpoint: string): Promise<Finding> {
  try {
    await fetch(endpoint, { method: 'HEAD', signal: AbortSignal.timeout(answerTimeoutMs) })
    return { name: 'Hugging Face', result: 'ok', detail: `${endpoint} answers` }
  } catch {
    const advice = 'only `hf:` sources need it: set HF_ENDPOINT to a mirror, or use another kind of source'
    return { name: 'Hugging Face', result: 'warn', detail: `${endpoint} does not answer`, advice }
  }
}

async function checkServer(server: ServerAddress): Promise<Finding> {
  if (!(await isServing(server)))
    return { name: 'server', result: 'ok', detail: `none runs at ${server.url}; \`${commandName} serve\` starts one` }
  try {
    const models = await listModels(server)
    return {
      name: 'server',
      result: 'ok',
      detail: `${server.url}: ${models.map(({ id, state }) => `${id} (${state})`).join(', ')}`,
    }
  } catch (error) {
    const detail = `${server.url} responds, but: ${messageOf(error)}`
    return { name: 'server', result: 'warn', detail, advice: 'set DRAGOMAN_API_KEY to a key of that server' }
  }
}
