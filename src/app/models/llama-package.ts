import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { OutputTail } from '../../base/output-tail.ts'
import { AppError, messageOf } from '../../contract/errors.ts'
import { withFileLock } from '../../registry/fetch/file-lock.ts'

const name = 'node-llama-cpp'
/** The packages that the worker imports. */
const imported = [name, 'koffi']

/** The versions of node-llama-cpp and the packages installed with it. */
type Packages = Readonly<Record<string, string>>

type LlamaPackageOptions = {
  /** Dragoman's data folder. */
  readonly home: string
  readonly signal: AbortSignal
  readonly onNote: (note: string) => void
  /** Where the package of this program has the manifest and the lock file; only a packed one has them. */
  readonly recipe?: string
  /** Whether the package can be imported from here. */
  readonly isInstalled?: () => boolean
}

/**
 * The folder from which node-llama-cpp and koffi are imported: undefined if both are installed beside Dragoman, as in a checkout; otherwise
 * a folder below `home`, where npm installs them the first time. Throws `model-unavailable`, or the signal's reason.
 */
export async function ensureLlamaPackage(options: LlamaPackageOptions): Promise<string | undefined> {
  const { home, signal, onNote, recipe = ownRecipe, isInstalled = isInstalledBeside } = options
  if (isInstalled()) return undefined
  const packages = await readPackages(recipe)
  const target = folderOf(home, packages)
  if (existsSync(target)) return target
  const onWait = (holder: string) => onNote(`${holder} is already installing llama.cpp; waiting for it`)
  return withFileLock(`${target}.lock`, { signal, onWait }, async () => {
    if (existsSync(target)) return target
    onNote(`installing llama.cpp (${name} ${packages[name]}) in ${target}, once; about 80 MB`)
    const draft = `${target}.new`
    await rm(draft, { recursive: true, force: true })
    await mkdir(draft, { recursive: true })
    await cp(join(recipe, 'manifest.json'), join(draft, 'package.json'))
    await cp(join(recipe, 'lock.json'), join(draft, 'package-lock.json'))
    await install(draft, signal)
    await rename(draft, target)
    return target
  })
}

/** Where node-llama-cpp is, without installing it: beside this program, in a folder, or missing. */
export async function installedLlamaPackage(home: string): Promise<string> {
  if (isInstalledBeside()) return 'beside'
  const target = folderOf(home, await readPackages(ownRecipe))
  return existsSync(target) ? target : 'missing'
}

/** Another version of any of them is another folder. */
function folderOf(home: string, packages: Packages): string {
  const names = Object.entries(packages).map(([one, version]) => `${one}-${version}`)
  return join(home, 'engines', names.join('-'))
}

/** Beside `dist/app`, in a package that was packed. */
const ownRecipe = fileURLToPath(new URL('../../llama-package', import.meta.url))

function isInstalledBeside(): boolean {
  try {
    for (const one of imported) createRequire(import.meta.url).resolve(`${one}/package.json`)
    return true
  } catch (error) {
    // An installed package need not show its manifest; only a missing one is not found.
    return (error as { code?: string }).code !== 'MODULE_NOT_FOUND'
  }
}

async function readPackages(recipe: string): Promise<Packages> {
  try {
    const { dependencies } = JSON.parse(await readFile(join(recipe, 'manifest.json'), 'utf8'))
    return dependencies
  } catch (error) {
    const message = `llama.cpp is not installed: install ${imported.join(' and ')} beside Dragoman, or install Dragoman again (${messageOf(error)})`
    throw new AppError('model-unavailable', message, { cause: error })
  }
}

async function install(folder: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const npm = findNpm()
  const child = spawn(npm === undefined ? 'npm' : process.execPath, npm === undefined ? args : [npm, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: npm === undefined && process.platform === 'win32',
    detached: process.platform !== 'win32',
  })
  // npm passes no signal on to what it runs.
  const stop = () => {
    if (child.pid === undefined || process.platform === 'win32') child.kill('SIGKILL')
    else process.kill(-child.pid, 'SIGKILL')
  }
  signal.addEventListener('abort', stop, { once: true })
  const output = new OutputTail(() => undefined)
  output.read(child.stdout, child.stderr)
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    signal.throwIfAborted()
    if (code !== 0) throw failed(output.lines.join('\n'))
  } catch (error) {
    signal.throwIfAborted()
    throw error instanceof AppError ? error : failed(messageOf(error))
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** The npm that runs this program, or the one that came with this Node. */
function findNpm(): string | undefined {
  const running = process.env.npm_execpath
  if (running?.endsWith('.js')) return running
  const beside = join(dirname(dirname(process.execPath)), 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js')
  return existsSync(beside) ? beside : undefined
}

function failed(why: string): AppError {
  const message = `llama.cpp could not be installed with npm: ${why}\ncheck the network, or install ${name} beside Dragoman`
  return new AppError('model-unavailable', message)
}
