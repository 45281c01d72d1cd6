// Makes package-lock.json installable on every platform. `npm run lock` runs it after a change of dependencies.
//
// 1. A registry mirror may lack some packages' builds for other platforms; npm then writes a lock file without them,
//    and `npm ci` rejects it ("Missing: ... from lock file"). This adds the missing optional entries, without a
//    checksum; their platform is derived from their name, where npm itself reads their manifest.
// 2. node-llama-cpp's arm packages declare `x64` as well (for cross-building), so a plain install on x64 would include
//    33 MB for other machines. The lock file restricts them to the machines they run on.
import { readFileSync, writeFileSync } from 'node:fs'

const systems = { mac: 'darwin', win: 'win32', wasm32: 'wasi' }
const knownSystems = new Set([
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'aix',
  'win32',
])
const knownCpus = new Set(['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'])

const path = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(path, 'utf8'))
const packages = lock.packages

for (const { optionalDependencies = {} } of Object.values({ ...packages })) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const key = `node_modules/${name}`
    if (packages[key] !== undefined || !/^\d/.test(version)) continue
    const words = name.replace(/^.*\//, '').replace('cli-', '').split('-')
    const os = words.map((word) => systems[word] ?? word).filter((word) => knownSystems.has(word))
    const cpu = words.map((word) => (word === 'armv7l' ? 'arm' : word)).filter((word) => knownCpus.has(word))
    if (os.length === 0 && cpu.length === 0) throw new Error(`the name of ${name} does not contain its platform`)
    const libc = words.filter((word) => word === 'musl')
    packages[key] = { version, cpu, libc, optional: true, os }
    for (const field of ['cpu', 'libc', 'os']) if (packages[key][field].length === 0) delete packages[key][field]
    console.log(`added ${name} ${version} (${[...os, ...cpu].join(' ')})`)
  }
}
packages['node_modules/@node-llama-cpp/linux-arm64'].cpu = ['arm64']
packages['node_modules/@node-llama-cpp/linux-armv7l'].cpu = ['arm']

lock.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
