import { statSync } from 'node:fs'

const compilerState = new URL('../.tsbuildinfo', import.meta.url)

/** The bundle that a process begins with instead of its module, since it starts sooner; undefined where there is none, or only one of older modules. */
export function bundleOf(program: 'main' | 'server-worker' | 'llama-worker'): URL | undefined {
  const bundle = new URL(`../bundle/${program}.js`, import.meta.url)
  const bundledMs = statSync(bundle, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const compiledMs = statSync(compilerState, { throwIfNoEntry: false })?.mtimeMs ?? 0
  return bundledMs > compiledMs ? bundle : undefined
}
