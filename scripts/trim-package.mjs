// What packing does to dist/: an installed Dragoman has the types of its public door and no others, and the part of the MCP client that it uses.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { root } from './commands.mjs'
import { productionModules } from './stage.mjs'

const dist = join(root, 'dist')
const cache = join(root, '.cache')
const bundle = join(dist, 'tools', 'mcp', 'protocol.js')
/** The names, versions and licences of what is in the bundle. It is written last: it is older than a bundle that the compiler has replaced. */
const list = join(dist, 'bundled.json')

/** Packages that the bundle leaves to the installed package. */
const kept = ['zod']

/** Replaces what is built of src/tools/mcp/protocol.ts by a bundle of it. */
export async function bundleMcpClient() {
  if (existsSync(list) && statSync(list).mtimeMs >= statSync(bundle).mtimeMs) return
  const { build } = await import('vite')
  mkdirSync(cache, { recursive: true })
  const work = mkdtempSync(join(cache, 'bundle-'))
  try {
    const output = await build({
      configFile: false,
      root,
      logLevel: 'error',
      ssr: { noExternal: true, external: kept },
      build: {
        ssr: join(root, 'src', 'tools', 'mcp', 'protocol.ts'),
        outDir: work,
        target: 'node22',
        rolldownOptions: { output: { entryFileNames: 'protocol.js', codeSplitting: false } },
      },
    })
    const modules = output.output.flatMap(({ moduleIds = [] }) => moduleIds)
    renameSync(join(work, 'protocol.js'), bundle)
    writeList(packagesOf(modules).map(describe))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Adds the packages of these modules to the list, but for those that are installed with Dragoman. */
export function listBundled(modules) {
  const installed = new Set(productionModules().map(({ path }) => path))
  const added = packagesOf(modules).filter((folder) => !installed.has(folder))
  const known = JSON.parse(readFileSync(list, 'utf8'))
  const isNew = (one) => !known.some(({ name, version }) => name === one.name && version === one.version)
  writeList([...known, ...added.map(describe).filter(isNew)])
}

const writeList = (packages) => writeFileSync(list, `${JSON.stringify(packages, null, 2)}\n`)

/** Removes the declarations that no program can reach: those behind none of the package's `exports`. */
export function removeInnerTypes() {
  const reached = new Set()
  const visit = (file) => {
    if (reached.has(file)) return
    reached.add(file)
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:\bfrom |\bimport\()['"](\.[^'"]+)['"]/g)) {
      visit(join(dirname(file), path.replace(/\.[jt]s$/, '.d.ts')))
    }
  }
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const { types } of Object.values(exports)) if (types !== undefined) visit(join(root, types))
  for (const name of readdirSync(dist, { recursive: true })) {
    const file = join(dist, name)
    if (name.endsWith('.d.ts') && !reached.has(file)) rmSync(file, { force: true })
  }
}

function packagesOf(modules) {
  return [...new Set(modules.map(packageOf).filter((folder) => folder !== undefined))].sort()
}

/** The folder of the package that has a module: the innermost. */
function packageOf(id) {
  const path = relative(root, id).replaceAll(sep, '/')
  return /^(?:node_modules\/(?:@[^/]+\/)?[^/]+\/)+/.exec(path)?.[0].slice(0, -1)
}

function describe(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  const file = readdirSync(join(root, folder)).find((one) => /^licen[cs]e/i.test(one))
  return { name, version, license, text: file && readFileSync(join(root, folder, file), 'utf8') }
}
