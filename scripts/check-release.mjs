// node scripts/check-release.mjs vVERSION: whether this checkout is that version, in the package, its lock file and the chart, and CHANGELOG.md has a
// section of it, which is printed: the notes of the release.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fail, root } from './commands.mjs'

const read = (name) => readFileSync(join(root, name), 'utf8')
const [tag = ''] = process.argv.slice(2)
const version = tag.replace(/^v/, '')
const chart = read('deploy/helm/dragoman/Chart.yaml')
const found = {
  'package.json': JSON.parse(read('package.json')).version,
  'package-lock.json': JSON.parse(read('package-lock.json')).version,
  'version of the chart': /^version: (.+)$/m.exec(chart)?.[1],
  'appVersion of the chart': /^appVersion: (.+)$/m.exec(chart)?.[1],
  'kustomization.yaml': /newTag: ([^ }]+)/.exec(read('deploy/kubernetes/kustomization.yaml'))?.[1],
}
const other = Object.entries(found).filter(([, one]) => one !== version)
if (other.length > 0) fail(`${tag} is not the version of ${other.map(([name, one]) => `${name} (${one})`).join(', ')}`)
const section = read('CHANGELOG.md')
  .split(/^## /m)
  .find((text) => text.startsWith(`${version} `) || text.startsWith(`${version}\n`))
if (section === undefined) fail(`CHANGELOG.md has no section ${version}: rename "Unreleased", and begin it anew`)
process.stdout.write(`${section.slice(section.indexOf('\n') + 1).trim()}\n`)
