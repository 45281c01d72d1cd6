// Bundles what is built of our modules, with the packages that they import, for the processes that start most often: reading a few files takes less
// time than finding a thousand. Without Vite (an install for production) nothing is bundled, and processes begin with the modules.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from '../commands.mjs'

const dist = join(root, 'dist')
const target = join(dist, 'bundle')

/** The modules that processes begin with; `src/bundles/bundle-of.ts` finds the bundles by their names. */
const programs = {
  main: 'cli/main.js',
  'server-worker': 'cli/worker.js',
  'llama-worker': 'engine/llama/worker/worker.js',
}

/** Packages that stay apart: native ones, and one of 2 MB that few processes need. */
const apart = ['koffi', 'node-llama-cpp', 'unpdf']

export function removeBundles() {
  rmSync(target, { recursive: true, force: true })
}

/** Bundles what is in dist/. */
export async function bundlePrograms() {
  if (!existsSync(join(root, 'node_modules', 'vite'))) return
  const { build } = await import('vite')
  const input = Object.fromEntries(Object.entries(programs).map(([name, path]) => [name, join(dist, path)]))
  const cache = join(root, '.cache')
  mkdirSync(cache, { recursive: true })
  const outDir = mkdtempSync(join(cache, 'bundle-'))
  await build({
    configFile: false,
    root,
    logLevel: 'error',
    plugins: [atTheirPlaces],
    ssr: { noExternal: true, external: apart },
    build: {
      ssr: true,
      outDir,
      target: 'node22',
      rolldownOptions: { input, output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js', comments: false } },
    },
  })
  // A process that starts meanwhile finds all files of the one or of the other.
  const old = `${outDir}-old`
  if (existsSync(target)) renameSync(target, old)
  renameSync(outDir, target)
  rmSync(old, { recursive: true, force: true })
}

/** Modules find files, threads and processes by their own place. */
const atTheirPlaces = {
  name: 'at-their-places',
  enforce: 'pre',
  // Packing bundles it with its packages.
  resolveId: (id) => (id.endsWith('/protocol.js') ? { id: '../tools/mcp/protocol.js', external: 'relative' } : undefined),
  transform(code, id) {
    const path = relative(dist, id).replaceAll(sep, '/')
    if (path.startsWith('..') || !code.includes('import.meta.url')) return
    return { code: code.replaceAll('import.meta.url', `new URL('../${path}', import.meta.url).href`) }
  },
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundlePrograms()
