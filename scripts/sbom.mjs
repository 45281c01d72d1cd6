// npm run sbom: prints what an installed Dragoman consists of, as CycloneDX: npm's own list of dependencies, and what is bundled into the package.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fail, npm, root } from './commands.mjs'
import { ensureNode } from './node.mjs'
import { productionModules } from './stage.mjs'

export function sbom() {
  // With `--omit`, as with NODE_ENV=production, npm leaves out packages that installed ones need, too: its whole list is reduced to what the
  // lock file says.
  const { status, stdout, output } = npm(['sbom', '--package-lock-only', '--include=dev', '--sbom-format=cyclonedx'])
  if (status !== 0) fail(`npm sbom failed:\n${output}`)
  const all = JSON.parse(stdout)
  const installed = productionModules().map(({ path, version }) => `${path.replace(/^.*node_modules\//, '')}@${version}`)
  // npm counts them as development dependencies: an installed package has them inside.
  const bundled = JSON.parse(readFileSync(join(root, 'dist', 'bundled.json'), 'utf8')).map(
    ({ name, version }) => `${name}@${version}`,
  )
  const names = new Set([...installed, ...bundled])
  const components = all.components.filter(({ purl }) => names.has(decodeURIComponent(purl).replace(/^pkg:npm\//, '')))
  const refs = new Set([all.metadata.component['bom-ref'], ...components.map((component) => component['bom-ref'])])
  const dependencies = all.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map((one) => ({ ...one, dependsOn: one.dependsOn.filter((ref) => refs.has(ref)) }))
  return { ...all, components, dependencies }
}

/** The same, with what tarballs bring besides the package: packages of Node.js and npm, by their folders. */
export function withRuntime(bom, folders) {
  const components = folders.map((folder) => componentOf(folder))
  const own = bom.metadata.component['bom-ref']
  const refs = components.map((component) => component['bom-ref'])
  const dependencies = bom.dependencies.map((one) => (one.ref === own ? { ...one, dependsOn: [...one.dependsOn, ...refs] } : one))
  return { ...bom, components: [...bom.components, ...components], dependencies }
}

/** An installed package, with those inside it. */
function componentOf(folder, parent = '') {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const ref = `${parent}${name}@${version}`
  const inside = packagesIn(join(folder, 'node_modules')).map((one) => componentOf(one, `${ref}|`))
  const isNode = parent === '' && name.startsWith('node-')
  return {
    'bom-ref': ref,
    type: isNode ? 'platform' : 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    // What vulnerabilities of Node.js are published for.
    ...(isNode && { cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*` }),
    ...(typeof license === 'string' && { licenses: [{ expression: license }] }),
    ...(inside.length > 0 && { components: inside }),
  }
}

function packagesIn(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .flatMap((name) => (name.startsWith('@') ? readdirSync(join(folder, name)).map((one) => join(name, one)) : [name]))
    .map((name) => join(folder, name))
    .filter((path) => existsSync(join(path, 'package.json')))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await ensureNode()
  process.stdout.write(`${JSON.stringify(sbom(), null, 2)}\n`)
}
