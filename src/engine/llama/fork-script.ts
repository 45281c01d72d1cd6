import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleOf } from '../../bundles/bundle-of.ts'

const extension = extname(fileURLToPath(import.meta.url))
const llamaPackages = ['koffi', 'node-llama-cpp']

type Options = ForkOptions & {
  readonly args: readonly string[]
  /** The folder to import node-llama-cpp from; absent: where it is installed beside this program. */
  readonly enginePath: string | undefined
  /** node-llama-cpp does not try in a process of its own whether a build runs here. */
  readonly isTried?: boolean
}

/** Starts a program of `worker/` with a channel. From sources (tests, development) it is TypeScript; built, it is JavaScript. */
export function forkScript(name: 'worker' | 'probe', { args, enginePath, isTried = false, ...options }: Options): ChildProcess {
  const bundle = name === 'worker' ? bundleOf('llama-worker') : undefined
  return fork(fileURLToPath(bundle ?? new URL(`./worker/${name}${extension}`, import.meta.url)), args, {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: [
      ...(extension === '.ts' ? ['--import', 'tsx'] : []),
      ...(enginePath === undefined ? [] : ['--import', importLlamaFrom(enginePath)]),
      ...(isTried ? ['--import', skipTrial] : []),
    ],
  })
}

/** Programs that begin with Node's module, which lacks `registerHooks` before Node.js 22.15. */
const withModule = (program: string) => toUrl(`import module from 'node:module'\n${program}`)

/** A program with which node-llama-cpp and koffi are imported from this folder, from any file of the process. */
function importLlamaFrom(folder: string): string {
  const parent = new URL('package.json', `file://${encodeURI(folder.replaceAll('\\', '/'))}/`).href
  const names = JSON.stringify(llamaPackages)
  const resolve = `(specifier, context, next) =>
    next(specifier, ${names}.includes(specifier) ? { ...context, parentURL: ${JSON.stringify(parent)} } : context)`
  const older = JSON.stringify(toUrl(`export const resolve = ${resolve}`))
  return withModule(`if (module.registerHooks) module.registerHooks({ resolve: ${resolve} })
else module.register(${older})`)
}

/**
 * A program that replaces node-llama-cpp's trial, which takes a third of a second at each start. An older Node.js, which cannot replace
 * a module in its own thread, keeps the trial.
 */
const skipTrial = withModule(`const source = 'export const testBindingBinary = () => Promise.resolve(true)'
module.registerHooks?.({
  load: (url, context, next) =>
    url.endsWith('/testBindingBinary.js') ? { format: 'module', source, shortCircuit: true } : next(url, context),
})`)

function toUrl(program: string): string {
  return `data:text/javascript,${encodeURIComponent(program)}`
}
