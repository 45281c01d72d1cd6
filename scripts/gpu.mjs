// npm run gpu -- cuda|vulkan|none: installs llama.cpp's GPU builds in node_modules, or removes them. A plain install leaves them
// out, since they are several times as large as the rest: package.json's `overrides` put an empty package in their place.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled } from './bootstrap.mjs'
import { capture, fail, npm, root, say } from './commands.mjs'
import { ensureNode } from './node.mjs'

const scope = '@node-llama-cpp'
const suffixes = { cuda: ['cuda', 'cuda-ext'], vulkan: ['vulkan'], none: [] }

await ensureNode()
const [choice, ...others] = process.argv.slice(2)
if (!Object.hasOwn(suffixes, choice ?? '') || others.length > 0) fail('usage: npm run gpu -- cuda|vulkan|none')
await ensureInstalled()

const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
const versions = lock.packages['node_modules/node-llama-cpp'].optionalDependencies
const wanted = suffixes[choice].map((suffix) => `${scope}/${platform}-${suffix}`)
const known = Object.keys(manifest.overrides).filter((name) => name.startsWith(`${scope}/${platform}-`))
const missing = wanted.find((name) => versions[name] === undefined)
if (missing !== undefined) fail(`there is no ${choice} build of llama.cpp for ${platform}`)

for (const name of known) {
  if (wanted.includes(name)) put(`${name}@${versions[name]}`, name)
  else if (installedName(name) === name) put(manifest.overrides[name].replace(/^npm:/, ''), name)
}
say(
  choice === 'none'
    ? 'the GPU builds are removed'
    : `${choice} is installed; a model uses it with gpuLayers: max, and \`dragoman doctor\` tries it`,
)

/** The name in the manifest of an installed package: that of the empty package, or the real one. */
function installedName(name) {
  const path = join(root, 'node_modules', name, 'package.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).name : undefined
}

/** Fetches a package (npm checks its integrity) and replaces the installed one when it is complete. */
function put(spec, name) {
  // Inside node_modules, so that the final rename stays on one disk.
  const folder = join(root, 'node_modules', '.dragoman-gpu')
  const clean = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', clean)
  clean()
  mkdirSync(join(folder, 'unpacked'), { recursive: true })
  say(`fetching ${spec}`)
  const packed = npm(['pack', spec, '--pack-destination', folder, '--loglevel=error'])
  if (packed.status !== 0) fail(`npm pack failed:\n${packed.output}`)
  const archive = readdirSync(folder).find((file) => file.endsWith('.tgz'))
  if (archive === undefined) fail(`npm pack made no archive of ${spec}`)
  const unpacked = capture('tar', ['-xzf', archive, '-C', 'unpacked', '--strip-components=1'], { cwd: folder })
  if (unpacked.status !== 0) fail(`unpacking failed:\n${unpacked.output}`)
  const target = join(root, 'node_modules', name)
  rmSync(target, { recursive: true, force: true })
  renameSync(join(folder, 'unpacked'), target)
  clean()
}
