import { useState } from 'preact/hooks'
import { chatTexts } from '../../../texts/chat.ts'
import { Button } from '../../../ui/button.tsx'
import type { Settings } from '../conversation.ts'
import { deletePreset, presets, savePreset } from './presets.ts'

const texts = chatTexts.presets

type PresetFieldsProps = {
  readonly settings: Settings
  readonly onChoose: (settings: Omit<Settings, 'model'>) => void
}

/** Takes the settings of a preset, and keeps the present ones as one. */
export function PresetFields({ settings, onChoose }: PresetFieldsProps) {
  const [chosen, setChosen] = useState('')
  const [name, setName] = useState('')
  const preset = presets.value.find((each) => each.name === chosen)
  const choose = (next: string) => {
    setChosen(next)
    const found = presets.value.find((each) => each.name === next)
    if (found !== undefined) onChoose(found.settings)
  }
  const save = (event: Event) => {
    event.preventDefault()
    const saved = name.trim() || chosen
    if (saved === '') return
    const { model: _, ...kept } = settings
    const before = presets.value.find((each) => each.name === saved)
    savePreset({ name: saved, isDefault: before?.isDefault ?? false, settings: kept })
    setChosen(saved)
    setName('')
  }
  return (
    <form class="presets" onSubmit={save}>
      <label class="labelled">
        <span>{texts.title}</span>
        <select class="field" value={preset?.name ?? ''} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">{presets.value.length === 0 ? texts.none : texts.choose}</option>
          {presets.value.map((each) => (
            <option key={each.name} value={each.name}>
              {each.name + (each.isDefault ? texts.isDefault : '')}
            </option>
          ))}
        </select>
      </label>
      {preset !== undefined && (
        <div class="row">
          <label class="check">
            <input
              type="checkbox"
              checked={preset.isDefault}
              onChange={(event) => savePreset({ ...preset, isDefault: event.currentTarget.checked })}
            />
            {texts.forNew}
          </label>
          <Button onClick={() => deletePreset(preset.name)}>{texts.delete(preset.name)}</Button>
        </div>
      )}
      <div class="row">
        <input
          class="field"
          aria-label={texts.name}
          placeholder={preset?.name ?? texts.name}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <Button disabled={name.trim() === '' && preset === undefined}>{texts.save}</Button>
      </div>
    </form>
  )
}
