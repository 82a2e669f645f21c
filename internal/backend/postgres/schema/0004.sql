-- Version 4 of the schema: where objects have moved.

ALTER TABLE object_history
    ADD moved_to text COLLATE "C";  -- the next address, if ending is moved
