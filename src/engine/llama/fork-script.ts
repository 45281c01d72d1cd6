import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundleOf, bundlesLlama } from '../../bundles/bundle-of.ts'

const extension = extname(fileURLToPath(import.meta.url))

type Options = ForkOptions & {
  readonly args: readonly string[]
  /** The folder to import node-llama-cpp from; absent: where it is installed beside this program. */
  readonly enginePath: string | undefined
}

/** Starts a program of `worker/` with a channel. From sources (tests, development) it is TypeScript; built, it is JavaScript. */
export function forkScript(name: 'worker' | 'probe', { args, enginePath, env = process.env, ...options }: Options): ChildProcess {
  const importer = enginePath === undefined ? import.meta.url : fileIn(enginePath)
  const llama = findLlama(importer)
  // Without the package, the module says what is missing.
  const isBundled = name === 'worker' && llama !== undefined && bundlesLlama(new URL('../package.json', llama))
  const bundle = isBundled ? bundleOf('llama-worker') : undefined
  return fork(fileURLToPath(bundle ?? new URL(`./worker/${name}${extension}`, import.meta.url)), args, {
    ...options,
    // The bundle has the modules of node-llama-cpp, which find its builds from here.
    env: { ...env, ...(llama !== undefined && { NODE_LLAMA_CPP: llama }) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: [
      ...(extension === '.ts' ? ['--import', 'tsx'] : []),
      ...(enginePath === undefined ? [] : ['--import', importLlamaAs(importer)]),
    ],
  })
}

/** A file of this folder, as what imports something. */
function fileIn(folder: string): string {
  return new URL('package.json', `file://${encodeURI(folder.replaceAll('\\', '/'))}/`).href
}

/** The main module of node-llama-cpp. */
function findLlama(importer: string): string | undefined {
  try {
    return pathToFileURL(createRequire(importer).resolve('node-llama-cpp')).href
  } catch {
    return undefined
  }
}

/** A program with which the packages of llama.cpp are imported as this file does, from any file of the process. */
function importLlamaAs(importer: string): string {
  const resolve = `(specifier, context, next) =>
    next(specifier, /^(koffi|node-llama-cpp)$/.test(specifier) ? { ...context, parentURL: ${JSON.stringify(importer)} } : context)`
  const older = JSON.stringify(toUrl(`export const resolve = ${resolve}`))
  // Node's module lacks `registerHooks` before Node.js 22.15.
  return toUrl(`import module from 'node:module'
if (module.registerHooks) module.registerHooks({ resolve: ${resolve} })
else module.register(${older})`)
}

function toUrl(program: string): string {
  return `data:text/javascript,${encodeURIComponent(program)}`
}
