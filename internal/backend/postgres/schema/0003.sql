-- Version 3 of the schema: how objects come into a state and leave it.

ALTER TABLE object
    ADD created boolean NOT NULL DEFAULT false;  -- by a run; false if it was imported, and if that is not known
ALTER TABLE object_history
    ADD created boolean NOT NULL DEFAULT false,
    ADD ending  text;  -- of the last version at an address: destroyed, or removed from the state alone
