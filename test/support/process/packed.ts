import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { testTools } from './test-tools.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Packs this checkout into the folder (which builds it), and resolves with the file. */
export async function packInto(folder: string): Promise<string> {
  const { stdout } = await keepBundles(() => run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root }))
  return join(folder, stdout.trim())
}

/** Packs with `pack`. Throws where that changes the bundles, of which processes that run, also of other tests, import files later. */
export async function keepBundles<Packed>(pack: () => Promise<Packed>): Promise<Packed> {
  const names = () => readdirSync(join(root, 'dist', 'bundle')).join()
  const before = names()
  const packed = await pack()
  if (names() !== before) throw new Error('packing has put other bundles in the place of those that run')
  return packed
}

/** What `npm run packed` has fetched: npm installs the packed package from it without a network. */
export const packedNpmCache = (() => {
  const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const manifest = JSON.stringify({ dependencies, peerDependencies, peerDependenciesMeta })
  const folder = join(testTools, `packed-${createHash('sha256').update(manifest).digest('hex').slice(0, 12)}`, 'cache')
  return existsSync(folder) ? folder : undefined
})()

/** npm itself, as `npm run packed` has fetched it for tarballs. */
export const npmPackage = readdirSync(existsSync(testTools) ? testTools : root).find((name) => /^npm-\d/.test(name))

/** The oldest version of Node.js that is supported, the one of this checkout and the newest, as far as they are installed. */
export const nodes = (() => {
  const cache = join(root, '.cache')
  const installed = existsSync(cache) ? readdirSync(cache) : []
  return ['22.13', '24', '26'].map((version) => {
    const [name] = installed.filter((candidate) => candidate.startsWith(`node-${version}.`))
    const own = process.versions.node.startsWith(`${version}.`) ? process.execPath : undefined
    return { version, binary: name === undefined ? own : join(cache, name, 'bin', 'node') }
  })
})()
