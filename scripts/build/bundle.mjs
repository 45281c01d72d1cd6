// Bundles what is built of our modules, with the packages that they import, for the processes that start most often: reading a few files takes less
// time than finding a thousand. Without Vite (an install for production) nothing is bundled, and processes begin with the modules.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
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
const apart = ['koffi', 'unpdf']

export function removeBundles() {
  rmSync(target, { recursive: true, force: true })
}

/** Bundles what is in dist/, and resolves with the modules that are inside. */
export async function bundlePrograms() {
  if (!existsSync(join(root, 'node_modules', 'vite'))) return []
  const { build } = await import('vite')
  const input = Object.fromEntries(Object.entries(programs).map(([name, path]) => [name, join(dist, path)]))
  const cache = join(root, '.cache')
  mkdirSync(cache, { recursive: true })
  const work = mkdtempSync(join(cache, 'bundle-'))
  // A folder inside: `work` itself can be read by its owner only, and the server may run as another user.
  const outDir = join(work, 'bundle')
  const { NODE_ENV } = process.env
  // Vite writes other words for tests, and the names of files depend on them.
  process.env.NODE_ENV = 'production'
  const { output } = await build({
    configFile: false,
    root,
    logLevel: 'error',
    plugins: [atTheirPlaces, llamaAtItsPlace],
    ssr: { noExternal: true, external: apart },
    build: {
      ssr: true,
      outDir,
      target: 'node22',
      rolldownOptions: { input, output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js', comments: false } },
    },
  })
  const { version } = JSON.parse(readFileSync(join(llama, '..', 'package.json'), 'utf8'))
  writeFileSync(join(outDir, 'node-llama-cpp.json'), JSON.stringify({ version }))
  if (NODE_ENV === undefined) delete process.env.NODE_ENV
  else process.env.NODE_ENV = NODE_ENV
  replace(outDir)
  rmSync(work, { recursive: true })
  return output.flatMap(({ moduleIds = [] }) => moduleIds)
}

/** A process that runs imports files of its bundle later: what is the same stays. One that starts meanwhile finds all of the one or of the other. */
function replace(made) {
  const files = (folder) => (existsSync(folder) ? readdirSync(folder).sort() : [])
  const isSame = (name) => readFileSync(join(made, name)).equals(readFileSync(join(target, name)))
  if (files(made).join() === files(target).join() && files(made).every(isSame)) {
    // Newer than what it is made of.
    for (const name of files(target)) utimesSync(join(target, name), new Date(), new Date())
    return
  }
  const old = `${made}-old`
  if (existsSync(target)) renameSync(target, old)
  renameSync(made, target)
}

/** Where the modules of node-llama-cpp are, which find its builds from there: a worker gets the place of the package. */
const llama = join(root, 'node_modules', 'node-llama-cpp', 'dist', sep)
/** A worker fetches and builds nothing. */
const unused = {
  ipull: 'export const downloadFile = undefined, downloadSequence = undefined, DownloadStatus = undefined',
  'simple-git': 'export const simpleGit = undefined',
}
/** Its builds are packages that are installed beside it. */
const findPackage = `const packageOfLlama = (name) => {
  const { createRequire } = process.getBuiltinModule('node:module')
  return process.getBuiltinModule('node:url').pathToFileURL(createRequire(process.env.NODE_LLAMA_CPP).resolve(name)).href
}
`
const llamaAtItsPlace = {
  name: 'llama-at-its-place',
  enforce: 'pre',
  resolveId: (id) => (id in unused ? `\0${id}` : undefined),
  load: (id) => (id.startsWith('\0') ? unused[id.slice(1)] : undefined),
  transform(code, id) {
    if (!id.startsWith(llama)) return
    const place = `new URL('${relative(llama, id).replaceAll(sep, '/')}', process.env.NODE_LLAMA_CPP).href`
    const placed = code
      .replaceAll('import.meta.url', place)
      .replace(/import\(("@node-llama-cpp\/[^"]+")\)/g, 'import(/* @vite-ignore */ packageOfLlama($1))')
    const find = placed.includes('packageOfLlama(') ? findPackage : ''
    return { code: find + (id.endsWith(`${sep}testBindingBinary.js`) ? tryOnce(placed) : placed) }
  },
}

/** A worker does not try in a process of its own, for a third of a second, the build that the one before has run. */
function tryOnce(code) {
  const begin = 'export async function testBindingBinary('
  if (!code.includes(begin)) throw new Error('node-llama-cpp tries its builds in another way')
  const tried = 'export const testBindingBinary = async (...given) => process.argv[3] !== undefined || tryBindingBinary(...given)'
  return `${tried}\n${code.replace(begin, 'async function tryBindingBinary(')}`
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
