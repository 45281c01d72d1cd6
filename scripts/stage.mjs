// node scripts/stage.mjs FOLDER: what images and tarballs hold, the same for each platform: in FOLDER/app the packed package with its dependencies
// as package-lock.json has them, in FOLDER/llama what installs llama.cpp. FOLDER is made; it must not have them yet.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { capture, fail, npm, root } from './commands.mjs'
import { ensureNode } from './node.mjs'

/** Packs into the folder, and resolves with the file's name. */
export function pack(folder) {
  const { status, stdout, output } = npm(['pack', '--silent', '--pack-destination', folder])
  if (status !== 0) fail(`npm pack failed:\n${output}`)
  return stdout.trim()
}

/** Fills the folder from a packed package. */
export function stage(folder, tarball) {
  const app = join(folder, 'app')
  mkdirSync(app, { recursive: true })
  const { status, output } = capture('tar', ['-xzf', tarball, '-C', app, '--strip-components=1'])
  if (status !== 0) fail(`the package cannot be unpacked:\n${output}`)
  // Those inside others come with them.
  const outermost = productionModules().filter(({ path }) => !path.includes('/node_modules/'))
  for (const { path } of outermost) cpSync(join(root, path), join(app, path), { recursive: true })
  const recipe = join(app, 'dist', 'llama-package')
  mkdirSync(join(folder, 'llama'))
  cpSync(join(recipe, 'manifest.json'), join(folder, 'llama', 'package.json'))
  cpSync(join(recipe, 'lock.json'), join(folder, 'llama', 'package-lock.json'))
}

/** Where package-lock.json has what an installed Dragoman needs. Nothing in it is built for one platform. */
export function productionModules() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const isNeeded = ({ dev, devOptional, optional, peer }) => !dev && !devOptional && !optional && !peer
  return Object.entries(packages).flatMap(([path, entry]) =>
    path !== '' && isNeeded(entry) ? [{ path, version: entry.version }] : [],
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await ensureNode()
  const [folder] = process.argv.slice(2)
  if (folder === undefined) fail('say where: node scripts/stage.mjs FOLDER')
  const work = mkdtempSync(join(tmpdir(), 'dragoman-stage-'))
  stage(resolve(folder), join(work, pack(work)))
  rmSync(work, { recursive: true })
}
