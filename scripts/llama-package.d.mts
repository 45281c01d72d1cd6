type Packages = Record<string, { version?: string; integrity?: string; dev?: boolean; [field: string]: unknown }>

export function llamaPackage(project: {
  readonly manifest: { readonly devDependencies: Record<string, string>; readonly overrides: Record<string, string> }
  readonly lock: { readonly packages: Packages }
}): { package: { dependencies: Record<string, string> }; lock: { packages: Packages } }
