// npm run senses-package -- FOLDER: builds the library for pictures and sound, and packs it for npm into FOLDER, as dragoman-senses-PLATFORM in the
// version of Dragoman. A release makes one on each platform. Prints the file.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { capture, fail, npm, root } from './commands.mjs'
import { ensureNode } from './node.mjs'

await ensureNode()
const [folder] = process.argv.slice(2)
if (folder === undefined) fail('say where: npm run senses-package -- FOLDER')
const out = resolve(folder)
mkdirSync(out, { recursive: true })
const built = capture(process.execPath, [join(root, 'scripts', 'senses.mjs')])
if (built.status !== 0) fail(built.output)
const library = built.stdout.trim().split('\n').at(-1) ?? ''
const { version, license, repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { platform, arch } = process

const work = mkdtempSync(join(tmpdir(), 'dragoman-senses-'))
process.once('exit', () => rmSync(work, { recursive: true, force: true }))
cpSync(library, join(work, basename(library)))
cpSync(join(dirname(library), 'LICENSE'), join(work, 'LICENSE'))
const manifest = {
  name: `dragoman-senses-${platform}-${arch}`,
  version,
  description: `With it, Dragoman's embedded engine reads pictures and sound: llama.cpp's multimodal part for ${platform} on ${arch}`,
  license,
  repository,
  os: [platform],
  cpu: [arch],
  files: [basename(library), 'LICENSE'],
}
writeFileSync(join(work, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
writeFileSync(join(work, 'README.md'), `${manifest.description}. Dragoman installs it by itself.\n`)
const packed = npm(['pack', '--silent', '--pack-destination', out], { cwd: work })
if (packed.status !== 0) fail(`npm pack failed:\n${packed.output}`)
process.stdout.write(`${join(out, packed.stdout.trim())}\n`)
