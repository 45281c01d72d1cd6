// The manifest and the lock file with which an installed Dragoman fetches node-llama-cpp, and koffi beside it, on first use: what
// package-lock.json says about them, and nothing else. `overrides` reach only what a project itself installs; as a dependency, it would bring 540 MB of GPU builds.

const names = ['koffi', 'node-llama-cpp']

/** The package and lock of a project that has them as its only dependencies. */
export function llamaPackage({ manifest, lock }) {
  const dependencies = Object.fromEntries(names.map((name) => [name, manifest.devDependencies[name]]))
  const root = { name: 'dragoman-llama', private: true, dependencies, overrides: manifest.overrides }
  const packages = { '': { name: root.name, dependencies: root.dependencies } }
  const add = (path) => {
    if (packages[path] !== undefined) return
    const { dev: _, devOptional: __, peer: ___, ...entry } = lock.packages[path]
    packages[path] = entry
    const needed = { ...entry.dependencies, ...entry.optionalDependencies }
    for (const dependency of Object.keys(needed)) {
      const found = resolve(lock.packages, path, dependency)
      if (found !== undefined) add(found)
      else if (entry.optionalDependencies?.[dependency] === undefined) throw new Error(`${dependency} of ${path} is not locked`)
    }
  }
  for (const name of names) add(`node_modules/${name}`)
  const sorted = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)))
  return { package: root, lock: { name: root.name, lockfileVersion: 3, requires: true, packages: sorted } }
}

/** As Node finds a package: in the nearest node_modules above. */
function resolve(packages, from, dependency) {
  for (let folder = from; ; folder = folder.slice(0, folder.lastIndexOf('/node_modules/'))) {
    const path = `${folder}/node_modules/${dependency}`
    if (packages[path] !== undefined) return path
    if (!folder.includes('/node_modules/')) break
  }
  const path = `node_modules/${dependency}`
  return packages[path] === undefined ? undefined : path
}
