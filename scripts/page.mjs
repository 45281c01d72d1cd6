// Builds the page from web/ into dist/page, each file also compressed: a server sends what a browser can read, and compresses nothing.
// Without the page's build tools (an install for production) nothing is built: the server then answers as with `server.page: off`.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { root, say } from './commands.mjs'
import { ensureNode } from './node.mjs'

const folder = join(root, 'dist', 'page')
const stamp = join(root, 'dist', 'page', '.built')

/** Builds the page unless it is built from exactly these sources. */
export async function ensurePage() {
  if (isPageBuilt()) return
  const state = pageState()
  say('building the page')
  rmSync(folder, { recursive: true, force: true })
  // As Vite sets it where it is unset: tests have `test`, and would get a page with the checks of libraries for developers.
  const { NODE_ENV } = process.env
  process.env.NODE_ENV = 'production'
  const { build } = await import('vite')
  await build({ configFile: join(root, 'web', 'vite.config.ts') })
  // What this process starts next, such as the tests, is not for production.
  if (NODE_ENV === undefined) delete process.env.NODE_ENV
  else process.env.NODE_ENV = NODE_ENV
  for (const file of filesBelow(folder)) {
    // Fonts are compressed as they are.
    if (file.endsWith('.woff2')) continue
    const bytes = readFileSync(file)
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }))
  }
  mkdirSync(folder, { recursive: true })
  writeFileSync(stamp, state)
}

/** Whether it is built from exactly these sources, or cannot be built. */
export function isPageBuilt() {
  const hasTools = ['vite', 'preact'].every((name) => existsSync(join(root, 'node_modules', name)))
  return !hasTools || (existsSync(stamp) && readFileSync(stamp, 'utf8') === pageState())
}

/** Changes whenever a source of the page, or a tool that builds it, does. */
function pageState() {
  const files = [
    ...filesBelow(join(root, 'web')),
    ...filesBelow(join(root, 'src', 'documents')),
    join(root, 'package-lock.json'),
    fileURLToPath(import.meta.url),
  ]
  return files
    .filter((file) => !/\.test\.tsx?$|\.md$/.test(file))
    .map((file) => {
      const { size, mtimeMs } = statSync(file)
      return `${relative(root, file)} ${size} ${mtimeMs}\n`
    })
    .join('')
}

function filesBelow(start) {
  return readdirSync(start, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await ensureNode()
  await ensurePage()
}
