// npm run tarball -- [--out FOLDER] [--repository OWNER/NAME] [--complete] PLATFORM…: tarballs with Node.js inside, for linux-x64, linux-arm64 and darwin-arm64, and
// beside them the packages for npm, and install.sh, the formula for Homebrew, SHA256SUMS and an SBOM. FOLDER is .cache/release unless it is named.
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { capture, fail, npm, root, say } from './commands.mjs'
import { ensureNpm } from './installers/npm-programs.mjs'
import { packLibraries } from './libraries.mjs'
import { ensureNode, nodePackage } from './node.mjs'
import { sbom, withRuntime } from './sbom.mjs'
import { pack, stage } from './stage.mjs'

const platforms = ['linux-x64', 'linux-arm64', 'darwin-arm64']

await ensureNode()
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string', default: join(root, '.cache', 'release') },
    repository: { type: 'string', default: 'OWNER/NAME' },
    complete: { type: 'boolean', default: false },
  },
})
const unknown = positionals.filter((platform) => !platforms.includes(platform))
if (positionals.length === 0 || unknown.length > 0) fail(`name one or more of ${platforms.join(', ')}`)
const out = resolve(values.out)
mkdirSync(out, { recursive: true })

const work = mkdtempSync(join(tmpdir(), 'dragoman-tarball-'))
process.once('exit', () => rmSync(work, { recursive: true, force: true }))
// npm installs llama.cpp when the first model needs it.
const npmFolder = ensureNpm()
if (npmFolder === undefined) process.exit(1)

const sums = {}
const keep = (name) => {
  sums[name] = createHash('sha256')
    .update(readFileSync(join(out, name)))
    .digest('hex')
  process.stdout.write(`${join(out, name)}\n`)
}
const packed = pack(out)
keep(packed)
for (const library of packLibraries(out)) keep(library)
for (const senses of readdirSync(out).filter((name) => name.startsWith('dragoman-senses-'))) keep(senses)
stage(work, join(out, packed))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
for (const platform of positionals) keep(makeTarball(platform))
const runtime = [...positionals.map(nodeFor), join(npmFolder, 'node_modules', 'npm')]
writeFileSync(join(out, 'sbom.cdx.json'), `${JSON.stringify(withRuntime(sbom(), runtime), null, 2)}\n`)
keep('sbom.cdx.json')
const base = `https://github.com/${values.repository}`
for (const [source, name] of [
  ['install/install.sh', 'install.sh'],
  ['homebrew/dragoman.rb', 'dragoman.rb'],
]) {
  writeFileSync(join(out, name), fill(readFileSync(join(root, 'deploy', source), 'utf8')))
  keep(name)
}
chmodSync(join(out, 'install.sh'), 0o755)
writeFileSync(
  join(out, 'SHA256SUMS'),
  Object.entries(sums)
    .map(([name, sum]) => `${sum}  ${name}\n`)
    .join(''),
)

/** One tarball: bin/dragoman, node/, app/ and, for Linux, systemd/, in a folder that says what it is. */
function makeTarball(platform) {
  const name = `dragoman-${version}-${platform}`
  say(`making ${name}.tar.gz`)
  const folder = join(work, name)
  mkdirSync(join(folder, 'bin'), { recursive: true })
  cpSync(join(root, 'deploy', 'install', 'dragoman'), join(folder, 'bin', 'dragoman'))
  chmodSync(join(folder, 'bin', 'dragoman'), 0o755)
  if (platform.startsWith('linux')) cpSync(join(root, 'deploy', 'systemd'), join(folder, 'systemd'), { recursive: true })
  const node = nodeFor(platform)
  mkdirSync(join(folder, 'node', 'bin'), { recursive: true })
  cpSync(join(node, 'bin', 'node'), join(folder, 'node', 'bin', 'node'))
  cpSync(join(node, 'LICENSE'), join(folder, 'node', 'LICENSE'))
  mkdirSync(join(folder, 'node', 'lib', 'node_modules'), { recursive: true })
  cpSync(join(npmFolder, 'node_modules', 'npm'), join(folder, 'node', 'lib', 'node_modules', 'npm'), { recursive: true })
  renameSync(join(work, 'app'), join(folder, 'app'))
  const senses = join(folder, 'app', 'senses')
  unpackSenses(platform, senses)
  const owner = ['--owner=0', '--group=0', '--numeric-owner']
  const made = capture('tar', [
    '-czf',
    join(out, `${name}.tar.gz`),
    '-C',
    work,
    ...(process.platform === 'linux' ? owner : []),
    name,
  ])
  if (made.status !== 0) fail(`tar failed:\n${made.output}`)
  rmSync(senses, { recursive: true, force: true })
  renameSync(join(folder, 'app'), join(work, 'app'))
  rmSync(folder, { recursive: true })
  return `${name}.tar.gz`
}

/** The library for pictures and sound, from the package that `npm run senses-package` made on that platform. */
function unpackSenses(platform, folder) {
  const name = `dragoman-senses-${platform}-${version}.tgz`
  if (!existsSync(join(out, name))) {
    const lack = `${out} has no ${name}, which \`npm run senses-package\` makes on that platform`
    if (values.complete) fail(lack)
    say(`without the library for pictures and sound: ${lack}`)
    return
  }
  mkdirSync(folder)
  const { status, output } = capture('tar', ['-xzf', join(out, name), '-C', folder, '--strip-components=1'])
  if (status !== 0) fail(output)
}

/** The folder of Node.js for a platform, from its package; in `.cache`, where `npm run other-nodes` and old machines have them too. */
function nodeFor(platform) {
  const own = `${process.platform}-${process.arch}` === platform
  const { name, version } = nodePackage(platform)
  const target = join(root, '.cache', own ? `node-${version}` : `node-${version}-${platform}`)
  if (existsSync(join(target, 'bin', 'node'))) return target
  const download = mkdtempSync(join(work, 'node-'))
  // npm would not install a package for another platform.
  const { status, stdout, output } = npm(['pack', '--loglevel=error', '--pack-destination', download, `${name}@${version}`])
  if (status !== 0) fail(`Node.js ${version} for ${platform} cannot be fetched:\n${output}`)
  mkdirSync(join(download, 'package'))
  const args = ['-xzf', join(download, stdout.trim()), '-C', join(download, 'package'), '--strip-components=1']
  const unpacked = capture('tar', args)
  if (unpacked.status !== 0) fail(unpacked.output)
  mkdirSync(join(root, '.cache'), { recursive: true })
  cpSync(join(download, 'package'), target, { recursive: true })
  return target
}

function fill(template) {
  const known = {
    VERSION: version,
    URL: `${base}/releases/download/v${version}`,
    HOMEPAGE: base,
    PACKAGE_SHA256: sums[packed],
    SUMS: positionals.map((platform) => `    ${platform}) echo ${sums[`dragoman-${version}-${platform}.tar.gz`]} ;;`).join('\n'),
  }
  return template.replace(/@([A-Z0-9_]+)@/g, (_, key) => known[key] ?? fail(`there is no value for @${key}@`))
}
