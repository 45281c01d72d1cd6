import { readFileSync, statSync } from 'node:fs'

const compilerState = new URL('../.tsbuildinfo', import.meta.url)

/** The bundle that a process begins with instead of its module, since it starts sooner; undefined where there is none, or only one of older modules. */
export function bundleOf(program: 'main' | 'server-worker' | 'llama-worker'): URL | undefined {
  const bundle = new URL(`../bundle/${program}.js`, import.meta.url)
  const bundledMs = statSync(bundle, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const compiledMs = statSync(compilerState, { throwIfNoEntry: false })?.mtimeMs ?? 0
  return bundledMs > compiledMs ? bundle : undefined
}

/** Whether the worker's bundle has the modules of this package, node-llama-cpp: those of another version do not fit its builds. */
export function bundlesLlama(manifest: URL): boolean {
  const version = versionIn(manifest)
  return version !== undefined && version === versionIn(new URL('../bundle/node-llama-cpp.json', import.meta.url))
}

function versionIn(manifest: URL): unknown {
  try {
    return JSON.parse(readFileSync(manifest, 'utf8')).version
  } catch {
    return undefined
  }
}
